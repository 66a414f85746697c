// Keeps web pages away from the loopback port: a browser says where a page comes from (Origin) and which
// name it looked up (Host). Neither matters on a Unix socket, which no page can reach.
#pragma once

#include <string_view>

namespace lockstep::daemon::http {

// Throws ApiError (403). Empty: the field is not there.
void refuse_web_pages(std::string_view host, std::string_view origin);

}  // namespace lockstep::daemon::http
