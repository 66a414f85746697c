// What a server receives.
#include <algorithm>
#include <array>
#include <type_traits>

#include "ipc/fields.h"
#include "ipc/ipc.h"
#include "ipc/json_reader.h"
#include "ipc/json_writer.h"
#include "ipc/receipt_fields.h"

namespace lockstep::ipc {

namespace {

constexpr std::string_view service_interface = "org.varlink.service";
constexpr std::string_view service_interface_text = R"(# What every Varlink service answers about itself.
interface org.varlink.service

# Who serves here, and what.
method GetInfo() -> (
  vendor: string,
  product: string,
  version: string,
  url: string,
  interfaces: []string
)

# The text of an interface, as it is written here.
method GetInterfaceDescription(interface: string) -> (description: string)

# No interface of this name is served.
error InterfaceNotFound (interface: string)

# The interface has no such method.
error MethodNotFound (method: string)

# The method is known, but what was asked of it is not done.
error MethodNotImplemented (method: string)

# A parameter is missing, unknown or of the wrong type.
error InvalidParameter (parameter: string)

# The caller may not do this.
error PermissionDenied ()

# The method is of use with "more" only.
error ExpectedMore ()
)";

// The top level of a message.
struct Envelope {
  std::string method;
  std::optional<JsonValue> parameters;
  bool more, oneway, upgrade;
};

Envelope read_envelope(std::string_view message) {
  try {
    Fields fields(JsonValue::parse(message, most_depth), "");
    Envelope call{fields.text("method").value_or(""), fields.object("parameters"),
                  fields.boolean("more").value_or(false), fields.boolean("oneway").value_or(false),
                  fields.boolean("upgrade").value_or(false)};
    fields.refuse_others();
    if (call.method.empty()) fields.fail("method", "is missing");
    return call;
  } catch (const JsonError& error) {
    throw ProtocolError(error.what());
  } catch (const FieldError& error) {
    throw ProtocolError("no Varlink call: " + error.path + " " + error.what());
  }
}

Answer service_error(std::string_view name, std::string_view parameter, std::string_view value) {
  JsonWriter json;
  json.begin_object().key("error").text(std::string(service_interface) + "." + std::string(name));
  json.key("parameters").begin_object().key(parameter).text(value).end_object().end_object();
  return {json.take() + '\0'};
}

Answer get_info(std::string_view version) {
  JsonWriter json;
  json.begin_object().key("parameters").begin_object();
  json.key("vendor").text("Lockstep").key("product").text("lockstepd").key("version").text(version);
  json.key("url").text("");
  json.key("interfaces").begin_array().text(service_interface).text(interface_name).end_array();
  json.end_object().end_object();
  return {json.take() + '\0'};
}

Answer get_interface_description(JsonValue parameters) {
  Fields fields(parameters, "");
  const auto name = fields.text("interface");
  fields.refuse_others();
  if (!name) fields.fail("interface", "is missing");
  const bool own = *name == interface_name;
  if (!own && *name != service_interface) return service_error("InterfaceNotFound", "interface", *name);
  JsonWriter json;
  json.begin_object().key("parameters").begin_object().key("description");
  json.text(own ? interface_text() : service_interface_text).end_object().end_object();
  return {json.take() + '\0'};
}

std::vector<ToolCall> read_tool_calls(const std::vector<JsonValue>& values, const std::string& array) {
  std::vector<ToolCall> calls;
  for (const JsonValue& value : values) {
    Fields fields(value, element_path(array, calls.size()));
    const auto name = fields.text("name");
    if (!name) fields.fail("name", "is missing");
    const auto arguments = fields.text("arguments");
    if (!arguments) fields.fail("arguments", "is missing");
    calls.push_back({fields.text("id").value_or(""), *name, *arguments});
    fields.refuse_others();
  }
  return calls;
}

Message read_message(JsonValue value, const std::string& path) {
  static constexpr std::array<std::string_view, 5> roles = {"system", "developer", "user", "assistant",
                                                            "tool"};
  Fields fields(value, path);
  Message message;
  message.role = fields.text("role").value_or("");
  if (std::find(roles.begin(), roles.end(), message.role) == roles.end())
    fields.fail("role", "must be system, developer, user, assistant or tool");
  const auto content = fields.text("content");
  message.content = content.value_or("");
  message.reasoning = fields.text("reasoning");
  const auto calls = fields.array("toolCalls");
  if (calls) message.calls = read_tool_calls(*calls, fields.path_of("toolCalls"));
  const auto call_id = fields.text("toolCallId");
  message.call_id = call_id.value_or("");
  fields.refuse_others();

  const bool assistant = message.role == "assistant";
  if (!content && !assistant) fields.fail("content", "is missing");
  if (message.reasoning && !assistant) fields.fail("reasoning", "belongs to messages of the assistant");
  if (calls && !assistant) fields.fail("toolCalls", "belongs to messages of the assistant");
  if (call_id && message.role != "tool") fields.fail("toolCallId", "belongs to messages of a tool");
  return message;
}

std::vector<Message> read_messages(Fields& fields) {
  const auto prompt = fields.text("prompt");
  const auto messages = fields.array("messages");
  const auto system = fields.text("system");
  if (prompt && messages) fields.fail("prompt", "and messages exclude each other: give one of them");
  if (!prompt && !messages) fields.fail("prompt", "is missing: give prompt or messages");
  if (messages && messages->empty()) fields.fail("messages", "must not be empty");

  std::vector<Message> conversation;
  if (system) conversation.push_back({"system", *system, {}, {}, {}});
  if (prompt) conversation.push_back({"user", *prompt, {}, {}, {}});
  if (messages)
    for (size_t i = 0; i < messages->size(); ++i)
      conversation.push_back(read_message((*messages)[i], element_path("messages", i)));
  return conversation;
}

void read_conversation(Fields& fields, Conversation& conversation) {
  conversation.messages = read_messages(fields);
  for (const JsonValue& tool : fields.array("tools").value_or(std::vector<JsonValue>{})) {
    if (tool.kind() != JsonValue::Kind::object)
      throw FieldError(element_path("tools", conversation.tools.size()), "must be an object");
    conversation.tools.emplace_back(tool.text());
  }
  conversation.thinking = fields.boolean("thinking");
}

void read(Fields& fields, Chat& chat) {
  read_conversation(fields, chat);
  read_sampling(fields, chat);
  chat.receipt = fields.boolean("receipt").value_or(false);
}

void read(Fields& fields, Complete& complete) {
  const auto prompt = fields.text("prompt");
  if (!prompt) fields.fail("prompt", "is missing");
  complete.prompt = *prompt;
  read_sampling(fields, complete);
  complete.receipt = fields.boolean("receipt").value_or(false);
}

void read(Fields& fields, Verify& verify) {
  verify.receipt = read_receipt(needed(fields, "receipt", fields.object("receipt")), "receipt");
}

void read(Fields& fields, Tokenize& tokenize) {
  if (auto text = fields.text("text")) {
    tokenize.what = std::move(*text);
    return;
  }
  Conversation conversation;
  read_conversation(fields, conversation);
  tokenize.what = std::move(conversation);
}

void read(Fields& fields, Cancel& cancel) {
  const auto id = fields.text("id");
  if (!id) fields.fail("id", "is missing");
  cancel.id = *id;
}

void read(Fields& fields, Check& check) {
  check.trials = fields.integer("trials");
  check.seed = fields.unsigned_integer("seed");
}

void read(Fields&, ModelsQuery&) {}
void read(Fields&, SnapshotsQuery&) {}
void read(Fields&, StatusQuery&) {}

// A call with parameters of its own kind, or what is wrong with them.
template <class Method>
std::variant<Call, Answer> read_method(const Envelope& call, JsonValue parameters) {
  if (call.oneway && !std::is_same_v<Method, Cancel>) return Answer{};
  try {
    Fields fields(parameters, "");
    Method method;
    read(fields, method);
    fields.refuse_others();
    return Call{call.more, call.oneway, std::move(method)};
  } catch (const FieldError& error) {
    if (call.oneway) return Answer{};
    const std::string sentence = "'" + error.path + "' " + error.what();
    return Answer{error_reply({Error::Kind::bad_request, sentence, error.path})};
  }
}

std::variant<Call, Answer> dispatch(const Envelope& call, std::string_view version) {
  const JsonValue parameters = call.parameters.value_or(JsonValue::parse("{}", 1));
  const size_t dot = call.method.rfind('.');
  const std::string interface = call.method.substr(0, dot == std::string::npos ? 0 : dot);
  const std::string method = call.method.substr(dot == std::string::npos ? 0 : dot + 1);
  if (interface == interface_name) {
    if (method == "Chat") return read_method<Chat>(call, parameters);
    if (method == "Complete") return read_method<Complete>(call, parameters);
    if (method == "Verify") return read_method<Verify>(call, parameters);
    if (method == "Check") return read_method<Check>(call, parameters);
    if (method == "Tokenize") return read_method<Tokenize>(call, parameters);
    if (method == "Cancel") return read_method<Cancel>(call, parameters);
    if (method == "Models") return read_method<ModelsQuery>(call, parameters);
    if (method == "Status") return read_method<StatusQuery>(call, parameters);
    if (method == "Snapshots") return read_method<SnapshotsQuery>(call, parameters);
  }
  if (call.oneway) return Answer{};
  if (interface == service_interface && method == "GetInfo") {
    Fields(parameters, "").refuse_others();
    return get_info(version);
  }
  if (interface == service_interface && method == "GetInterfaceDescription")
    return get_interface_description(parameters);
  if (interface == interface_name || interface == service_interface)
    return service_error("MethodNotFound", "method", call.method);
  return service_error("InterfaceNotFound", "interface", interface);
}

}  // namespace

std::variant<Call, Answer> read_call(std::string_view message, std::string_view version) {
  const Envelope call = read_envelope(message);
  if (call.upgrade && call.oneway) return Answer{};
  if (call.upgrade) return service_error("MethodNotImplemented", "method", call.method);
  try {
    return dispatch(call, version);
  } catch (const FieldError& error) {
    return service_error("InvalidParameter", "parameter", error.path);
  }
}

}  // namespace lockstep::ipc
