// Who may use the TCP port: keeps web pages away, and asks for a key where there are any.
//
// A browser says where a page comes from (Origin) and which name it looked up (Host): a page of another
// machine may not drive this server, nor may a name that was made to point here. Addresses and localhost are
// no such names. Unix sockets are for their owner and group and ask for nothing. I/O thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/configuration.h"
#include "daemon/http/keys.h"

namespace lockstep::daemon::http {

// The fields that decide; empty: not there.
struct Credentials {
  std::string_view path;
  std::string_view host, origin;
  std::string_view authorization, api_key;  // "Bearer KEY", or the key in X-Api-Key
};

struct Admission {
  std::string label;   // of the key; empty: none was needed
  std::string origin;  // of a page that may read the answer; empty: it comes from no page
};

class Guard {
 public:
  // Reads the keys: of the configured file, else of the credential "api-keys" that systemd passes, else none.
  // Throws StartFailure (configuration).
  explicit Guard(const Configuration& configuration);
  // Reads them again; on a mistake those that are known stay, and the log says why.
  void reload();

  bool asks_for_keys() const { return keys_.has_value(); }
  // Throws ApiError: 403 for pages and names that are not allowed, 401 without a key. /live and /health need
  // no key.
  Admission admit(const Credentials& credentials) const;
  // What a browser asks for before a page's request; 403 as above.
  Admission admit_preflight(const Credentials& credentials) const;

 private:
  const Configuration& configuration_;
  std::filesystem::path file_;  // empty: no keys
  std::optional<Keys> keys_;
};

}  // namespace lockstep::daemon::http
