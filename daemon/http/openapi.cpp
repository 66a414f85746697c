#include "daemon/http/openapi.h"

#include "daemon/anthropic/messages_request.h"
#include "daemon/http/routes.h"
#include "daemon/openai/chat_request.h"
#include "daemon/openai/completion_request.h"
#include "daemon/openai/responses_request.h"

namespace lockstep::daemon::http {
namespace {

json::Object content(const char* type, json::Value schema) {
  json::Object media{{"schema", std::move(schema)}};
  return {{"content", json::Object{{type, std::move(media)}}}};
}

json::Value object_schema() { return json::Object{{"type", "object"}}; }

json::Object responses(const char* type) {
  json::Object good =
      content(type, type == std::string_view("application/json") ? object_schema() : json::Object{});
  good.insert(good.begin(), json::Member{"description", "the answer"});
  json::Object bad = content("application/json", object_schema());
  bad.insert(bad.begin(), json::Member{"description", "an error; 400 names the field in param"});
  return {{"200", std::move(good)}, {"default", std::move(bad)}};
}

json::Value post(json::Value schema) {
  json::Object body = content("application/json", std::move(schema));
  body.push_back({"required", true});
  return json::Object{
      {"post", json::Object{{"requestBody", std::move(body)}, {"responses", responses("application/json")}}}};
}

json::Value request_schema(std::initializer_list<openai::Fields> tables) {
  json::Object properties;
  for (const openai::Fields table : tables)
    for (const openai::Field& field : table)
      properties.push_back({std::string(field.name), json::Object{{"description", field.help}}});
  return json::Object{{"type", "object"}, {"properties", std::move(properties)}};
}

json::Value schema_of(std::string_view path) {
  using namespace openai;
  if (path == "/v1/completions") return request_schema({common_fields(), text_fields(), completion_fields()});
  if (path == "/v1/responses") return request_schema({common_fields(), responses_fields()});
  if (path.starts_with("/v1/messages"))
    return request_schema({common_fields(), anthropic::messages_fields()});
  if (path == "/v1/chat/completions" || path == "/apply-template")
    return request_schema({common_fields(), text_fields(), chat_fields()});
  return object_schema();
}

json::Object parameter(const char* name, const char* place, json::Object schema) {
  return {{"name", name},
          {"in", place},
          {"required", place == std::string_view("path")},
          {"schema", std::move(schema)}};
}

json::Value input_items() {
  json::Array orders, parameters;
  for (const char* order : {"asc", "desc"}) orders.emplace_back(order);
  parameters.emplace_back(parameter("id", "path", {{"type", "string"}}));
  parameters.emplace_back(
      parameter("limit", "query", {{"type", "integer"}, {"minimum", 1}, {"maximum", 100}}));
  parameters.emplace_back(parameter("order", "query", {{"enum", std::move(orders)}}));
  parameters.emplace_back(parameter("after", "query", {{"type", "string"}}));
  return json::Object{{"get", json::Object{{"responses", responses("application/json")},
                                           {"parameters", std::move(parameters)}}}};
}

// "/v1/models/" takes an id.
std::string templated(std::string_view path) {
  return std::string(path) + (path.ends_with('/') ? "{id}" : "");
}

std::string lower(std::string_view method) {
  std::string out(method);
  for (char& c : out) c = static_cast<char>(c | 0x20);
  return out;
}

}  // namespace

json::Value openapi() {
  json::Object paths;
  for (const Endpoint& endpoint : endpoints())
    paths.push_back({std::string(endpoint.path), post(schema_of(endpoint.path))});
  for (const Utility& utility : utilities())
    paths.push_back({std::string(utility.path), post(schema_of(utility.path))});
  for (const Answer& answer : answers()) {
    const std::string path = templated(answer.path);
    const bool text = path == "/metrics";
    json::Object operation{{"responses", responses(text ? "text/plain" : "application/json")}};
    if (answer.path.ends_with('/')) {
      json::Array parameters;
      parameters.emplace_back(parameter("id", "path", json::Object{{"type", "string"}}));
      operation.push_back({"parameters", std::move(parameters)});
    }
    json::Member* known = nullptr;
    for (json::Member& member : paths)
      if (member.key == path) known = &member;
    if (!known) known = &paths.emplace_back(json::Member{path, json::Object{}});
    known->value.object()->push_back({lower(answer.method), std::move(operation)});
  }
  paths.push_back({"/v1/responses/{id}/input_items", input_items()});
  return json::Object{{"openapi", "3.1.0"},
                      {"info", json::Object{{"title", "lockstepd"}, {"version", LOCKSTEP_VERSION}}},
                      {"paths", std::move(paths)}};
}

}  // namespace lockstep::daemon::http
