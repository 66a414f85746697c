#include "daemon/http/routes.h"

#include <algorithm>
#include <array>

namespace lockstep::daemon::http {
namespace {

constexpr std::string_view chat_path = "/v1/chat/completions";
constexpr std::string_view model_prefix = "/v1/models/";
constexpr std::array get_paths{"/live", "/health", "/v1/models"};

bool is_get_path(std::string_view path) {
  for (const std::string_view known : get_paths)
    if (path == known) return true;
  return path.starts_with(model_prefix) && path.size() > model_prefix.size();
}

openai::ApiError wrong_method(std::string_view method, std::string_view path, const std::string& allowed) {
  return {405,
          "invalid_request_error",
          std::string(path) + " takes " + allowed + ", not " + std::string(method),
          {},
          "method_not_allowed"};
}

json::Value model_json(const engine::ModelInfo& model) {
  return json::Object{{"id", model.name},
                      {"object", "model"},
                      {"created", model.created},
                      {"owned_by", "lockstep"},
                      {"max_model_len", model.context},
                      {"family", model.family},
                      {"fingerprint", model.fingerprint},
                      {"canon", model.canon_version},
                      {"device", model.device},
                      {"device_description", model.device_description}};
}

Response health(const Service& service) {
  static constexpr std::array names{"loading", "ok", "stopping"};
  const bool ready = service.state() == Service::State::ready;
  json::Object body{{"status", names[static_cast<std::size_t>(service.state())]}};
  if (ready) {
    const engine::ModelInfo& model = service.engine().model();
    body.push_back({"model", model.name});
    body.push_back({"device", model.device});
  }
  Response response = json_response(ready ? 200 : 503, json::Value(std::move(body)));
  if (!ready) response.headers.emplace_back("Retry-After", "2");
  return response;
}

Response models(const Service& service) {
  json::Array data;
  data.push_back(model_json(service.engine().model()));
  return json_response(200, json::Object{{"object", "list"}, {"data", std::move(data)}});
}

}  // namespace

bool is_chat(std::string_view method, std::string_view path) {
  if (path == chat_path) {
    if (method != "POST") throw wrong_method(method, path, "POST");
    return true;
  }
  if (!is_get_path(path))
    throw openai::ApiError(404, "invalid_request_error", "there is nothing at " + std::string(path), {},
                           "not_found");
  if (method != "GET" && method != "HEAD") throw wrong_method(method, path, "GET");
  return false;
}

Response answer_get(const Service& service, std::string_view path) {
  if (path == "/live") return json_response(200, json::Object{{"status", "alive"}});
  if (path == "/health") return health(service);
  if (!service.has_engine()) throw openai::unavailable("the model is being loaded", "model_loading", 2);
  if (path == "/v1/models") return models(service);
  service.check_model(std::string(path.substr(model_prefix.size())));
  return json_response(200, model_json(service.engine().model()));
}

std::string_view path_of(std::string_view target) {
  constexpr std::string_view scheme = "http://";
  if (target.starts_with(scheme))
    target.remove_prefix(std::min(target.find('/', scheme.size()), target.size()));
  return target.substr(0, target.find('?'));
}

}  // namespace lockstep::daemon::http
