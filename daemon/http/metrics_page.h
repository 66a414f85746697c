// GET /metrics: the daemon's counts and the engine's, as Prometheus reads them (text format 0.0.4).
#pragma once

#include "daemon/http/response.h"
#include "daemon/service.h"

namespace lockstep::daemon::http {

Response metrics_page(const Service& service);

}  // namespace lockstep::daemon::http
