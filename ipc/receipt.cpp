#include "ipc/receipt_fields.h"

namespace lockstep::ipc {

void read_sampling(Fields& fields, Sampling& sampling) {
  sampling.max_tokens = fields.integer("maxTokens");
  sampling.temperature = fields.number("temperature");
  sampling.top_p = fields.number("topP");
  sampling.min_p = fields.number("minP");
  sampling.top_k = fields.integer("topK");
  sampling.seed = fields.unsigned_integer("seed");
  for (const JsonValue& stop : fields.array("stop").value_or(std::vector<JsonValue>{}))
    sampling.stop.push_back(text_of(stop, element_path(fields.path_of("stop"), sampling.stop.size())));
}

void write_sampling(JsonWriter& json, const Sampling& sampling) {
  if (sampling.max_tokens) json.key("maxTokens").integer(*sampling.max_tokens);
  if (sampling.temperature) json.key("temperature").real(*sampling.temperature);
  if (sampling.top_p) json.key("topP").real(*sampling.top_p);
  if (sampling.min_p) json.key("minP").real(*sampling.min_p);
  if (sampling.top_k) json.key("topK").integer(*sampling.top_k);
  if (sampling.seed) json.key("seed").unsigned_integer(*sampling.seed);
  if (sampling.stop.empty()) return;
  json.key("stop").begin_array();
  for (const std::string& stop : sampling.stop) json.text(stop);
  json.end_array();
}

std::vector<int32_t> read_tokens(Fields& fields, std::string_view name) {
  std::vector<int32_t> tokens;
  for (const JsonValue& element : needed(fields, name, fields.array(name))) {
    const auto token = element.kind() == JsonValue::Kind::number ? element.integer() : std::nullopt;
    if (!token || *token < 0 || *token > INT32_MAX) fields.fail(name, "must be token ids");
    tokens.push_back(static_cast<int32_t>(*token));
  }
  return tokens;
}

void write_tokens(JsonWriter& json, const std::vector<int32_t>& tokens) {
  json.begin_array();
  for (const int32_t token : tokens) json.integer(token);
  json.end_array();
}

Receipt read_receipt(JsonValue value, const std::string& path) {
  Fields fields(value, path);
  const auto text = [&](std::string_view name) { return needed(fields, name, fields.text(name)); };
  Receipt receipt;
  receipt.canon_version = needed(fields, "canonVersion", fields.integer("canonVersion"));
  receipt.model = text("model");
  receipt.fingerprint = text("fingerprint");
  receipt.device = fields.text("device").value_or("");
  receipt.chat = needed(fields, "chat", fields.boolean("chat"));
  receipt.thinking = fields.boolean("thinking");
  for (const JsonValue& tool : fields.array("tools").value_or(std::vector<JsonValue>{})) {
    if (tool.kind() != JsonValue::Kind::object) fields.fail("tools", "must be objects");
    receipt.tools.emplace_back(tool.text());
  }
  Fields parameters(needed(fields, "parameters", fields.object("parameters")), fields.path_of("parameters"));
  read_sampling(parameters, receipt.parameters);
  parameters.refuse_others();
  receipt.prompt_sha = text("promptSha");
  receipt.prompt = read_tokens(fields, "promptTokens");
  receipt.token_sha = text("tokenSha");
  receipt.reply = read_tokens(fields, "replyTokens");
  receipt.finish = text("finish");
  fields.refuse_others();
  return receipt;
}

void write(JsonWriter& json, const Receipt& receipt) {
  json.begin_object().key("canonVersion").integer(receipt.canon_version);
  json.key("model").text(receipt.model).key("fingerprint").text(receipt.fingerprint);
  json.key("device").text(receipt.device).key("chat").boolean(receipt.chat);
  if (receipt.thinking) json.key("thinking").boolean(*receipt.thinking);
  if (!receipt.tools.empty()) {
    json.key("tools").begin_array();
    for (const std::string& tool : receipt.tools) json.raw(tool);
    json.end_array();
  }
  json.key("parameters").begin_object();
  write_sampling(json, receipt.parameters);
  json.end_object().key("promptSha").text(receipt.prompt_sha);
  write_tokens(json.key("promptTokens"), receipt.prompt);
  json.key("finish").text(receipt.finish).key("tokenSha").text(receipt.token_sha);
  write_tokens(json.key("replyTokens"), receipt.reply);
  json.end_object();
}

std::string receipt_text(const Receipt& receipt) {
  JsonWriter json;
  write(json, receipt);
  return json.take();
}

}  // namespace lockstep::ipc
