#include "daemon/http/routes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "daemon/http/metrics_page.h"
#include "daemon/http/openapi.h"

namespace lockstep::daemon::http {
namespace {

json::Value model_json(const engine::ModelInfo& model) {
  return json::Object{{"id", model.name},
                      {"object", "model"},
                      {"created", model.created},
                      {"owned_by", "lockstep"},
                      {"context_length", model.context},
                      {"max_model_len", model.context},
                      {"family", model.family},
                      {"fingerprint", model.fingerprint},
                      {"canon", model.canon_version},
                      {"device", model.device},
                      {"device_description", model.device_description}};
}

const engine::ModelInfo& model_of(const Service& service) {
  if (!service.has_engine()) throw openai::unavailable("the model is being loaded", "model_loading", 2);
  return service.engine().model();
}

Response live(Service&, const Asked&) { return json_response(200, json::Object{{"status", "alive"}}); }

Response health(Service& service, const Asked&) {
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

Response metrics(Service& service, const Asked&) { return metrics_page(service); }

Response models(Service& service, const Asked&) {
  json::Array data;
  data.push_back(model_json(model_of(service)));
  return json_response(200, json::Object{{"object", "list"}, {"data", std::move(data)}});
}

Response model(Service& service, const Asked& asked) {
  const engine::ModelInfo& served = model_of(service);
  service.check_model(asked.id);
  return json_response(200, model_json(served));
}

std::shared_ptr<const openai::KeptResponse> kept(Service& service, std::string_view id) {
  auto response = service.responses().find(std::string(id));
  if (!response)
    throw openai::ApiError(404, "invalid_request_error",
                           "the response '" + std::string(id) + "' is not kept here (any more)", {},
                           "not_found");
  return response;
}

// The value of a name in "a=b&c=d"; ids and words need no escapes.
std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == name) return std::string(pair.substr(std::min(equals + 1, pair.size())));
  }
  return std::nullopt;
}

constexpr std::string_view input_items = "/input_items";

std::size_t page_limit(const std::optional<std::string>& text) {
  std::size_t limit = 20;
  if (!text) return limit;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), limit);
  if (error != std::errc() || end != text->data() + text->size() || limit < 1 || limit > 100)
    throw openai::invalid("'limit' must be 1 to 100", "limit");
  return limit;
}

// The items of a kept response's request, a page at a time.
Response input_page(const openai::KeptResponse& response, std::string_view query) {
  json::Array items = response.input;
  const std::string order = query_value(query, "order").value_or("desc");
  if (order != "asc" && order != "desc") throw openai::invalid("'order' must be asc or desc", "order");
  if (order == "desc") std::reverse(items.begin(), items.end());
  const auto id_of = [](const json::Value& item) { return *item.find("id")->string(); };
  if (const auto after = query_value(query, "after")) {
    const auto last =
        std::find_if(items.begin(), items.end(), [&](const auto& item) { return id_of(item) == *after; });
    if (last == items.end()) throw openai::invalid("'after' names no item of this response", "after");
    items.erase(items.begin(), last + 1);
  }
  const std::size_t limit = page_limit(query_value(query, "limit"));
  const bool more = items.size() > limit;
  if (more) items.resize(limit);
  json::Object list{{"object", "list"},
                    {"first_id", items.empty() ? json::Value() : id_of(items.front())},
                    {"last_id", items.empty() ? json::Value() : id_of(items.back())},
                    {"has_more", more}};
  list.push_back({"data", std::move(items)});
  return json_response(200, json::Value(std::move(list)));
}

Response response(Service& service, const Asked& asked) {
  const std::string_view id = asked.id;
  if (id.ends_with(input_items))
    return input_page(*kept(service, id.substr(0, id.size() - input_items.size())), asked.query);
  const std::string stream = query_value(asked.query, "stream").value_or("false");
  if (stream != "false")
    throw openai::invalid("'stream' must be false: a kept response is given whole", "stream");
  return json_response(200, kept(service, id)->body);
}

openai::ApiError method_refused(std::string_view path, std::string_view method, std::string_view allowed) {
  return {405,
          "invalid_request_error",
          std::string(path) + " takes " + std::string(allowed) + ", not " + std::string(method),
          {},
          "method_not_allowed"};
}

Response delete_response(Service& service, const Asked& asked) {
  if (asked.id.ends_with(input_items)) throw method_refused("/v1/responses/" + asked.id, "DELETE", "GET");
  kept(service, asked.id);
  service.responses().remove(asked.id);
  return json_response(200, json::Object{{"id", asked.id}, {"object", "response"}, {"deleted", true}});
}

Response description(Service&, const Asked&) { return json_response(200, openapi()); }

constexpr Answer all_answers[] = {
    {"GET", "/live", live},
    {"GET", "/health", health},
    {"GET", "/metrics", metrics},
    {"GET", "/v1/models", models},
    {"GET", "/v1/models/", model},
    {"GET", "/v1/responses/", response},
    {"DELETE", "/v1/responses/", delete_response},
    {"GET", "/openapi.json", description},
};

}  // namespace

std::span<const Answer> answers() { return all_answers; }

Route route_of(std::string_view method, std::string_view target) {
  const std::string_view path = path_of(target);
  std::string allowed;
  const auto fits = [&](std::string_view wanted) {
    const bool good = method == wanted || (wanted == "GET" && method == "HEAD");
    if (!good && allowed.find(wanted) == std::string::npos)
      allowed += (allowed.empty() ? "" : ", ") + std::string(wanted);
    return good;
  };
  for (const Endpoint& endpoint : endpoints())
    if (path == endpoint.path && fits("POST")) return {endpoint.path, &endpoint, nullptr, nullptr, {}};
  for (const Utility& utility : utilities())
    if (path == utility.path && fits("POST")) return {utility.path, nullptr, &utility, nullptr, {}};
  for (const Answer& one : answers()) {
    const bool with_id = one.path.ends_with('/');
    if (with_id ? !path.starts_with(one.path) || path.size() == one.path.size() : path != one.path) continue;
    if (!fits(one.method)) continue;
    const std::size_t mark = target.find('?');
    return {one.path,
            nullptr,
            nullptr,
            one.answer,
            {std::string(path.substr(with_id ? one.path.size() : path.size())),
             std::string(mark == target.npos ? "" : target.substr(mark + 1))}};
  }
  if (allowed.empty())
    throw openai::ApiError(404, "invalid_request_error", "there is nothing at " + std::string(path), {},
                           "not_found");
  throw method_refused(path, method, allowed);
}

Response error_response_at(std::string_view path, const openai::ApiError& error) {
  return path.starts_with("/v1/messages") ? anthropic_error_response(error) : error_response(error);
}

std::string_view path_of(std::string_view target) {
  constexpr std::string_view scheme = "http://";
  if (target.starts_with(scheme))
    target.remove_prefix(std::min(target.find('/', scheme.size()), target.size()));
  return target.substr(0, target.find('?'));
}

}  // namespace lockstep::daemon::http
