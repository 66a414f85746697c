// GET /openapi.json: the endpoints with their fields, made from the tables that requests are read by, so that
// it says what is so.
#pragma once

#include "daemon/json/value.h"

namespace lockstep::daemon::http {

json::Value openapi();

}  // namespace lockstep::daemon::http
