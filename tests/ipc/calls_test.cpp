#include <random>

#include "ipc/connection.h"
#include "ipc/ipc.h"
#include "tests/catch.h"

using namespace lockstep::ipc;

namespace {

std::string chat_call(const std::string& parameters) {
  return R"({"method":"org.lockstep.Inference.Chat","more":true,"parameters":)" + parameters + "}";
}

Chat chat_of(const std::string& parameters) {
  const auto result = read_call(chat_call(parameters), "1");
  if (const auto* answer = std::get_if<Answer>(&result)) FAIL(answer->bytes);
  return std::get<Chat>(std::get<Call>(result).what);
}

std::string answer_to(const std::string& message) {
  const auto result = read_call(message, "1.2.3");
  REQUIRE(std::holds_alternative<Answer>(result));
  return std::get<Answer>(result).bytes;
}

// "field: what is wrong" of the BadRequest that the parameters cause; its sentence begins with the field.
std::string refusal_of(const std::string& parameters) {
  const std::string bytes = answer_to(chat_call(parameters));
  const auto reply = read_reply(std::string_view(bytes.data(), bytes.size() - 1));
  REQUIRE(reply.error);
  REQUIRE(reply.error->kind == Error::Kind::bad_request);
  const std::string field = reply.error->field, begin = "'" + field + "' ";
  REQUIRE(reply.error->message.substr(0, begin.size()) == begin);
  return field + ": " + reply.error->message.substr(begin.size());
}

}  // namespace

TEST_CASE("a prompt and a system text become messages") {
  const Chat chat = chat_of(R"({"prompt":"Hi","system":"Be brief"})");
  REQUIRE(chat.messages.size() == 2);
  CHECK(chat.messages[0].role == "system");
  CHECK(chat.messages[0].content == "Be brief");
  CHECK(chat.messages[1].role == "user");
  CHECK(chat.messages[1].content == "Hi");
  CHECK_FALSE(chat.seed);
  CHECK_FALSE(chat.thinking);
}

TEST_CASE("every parameter of a chat arrives, and goes there and back") {
  Chat sent;
  sent.messages = {{"system", "S", {}, {}, {}},
                   {"user", "U \u4f60\n", {}, {}, {}},
                   {"assistant", "", "thought", {{"c1", "f", "{\"a\": 1}"}}, {}},
                   {"tool", "22", {}, {}, "c1"}};
  sent.tools = {R"({"type":"function", "n":123456789012345678901234567890 ,"f":1.50})"};
  sent.thinking = false;
  sent.max_tokens = 5;
  sent.top_k = 20;
  sent.temperature = 0.1;
  sent.top_p = 0.9;
  sent.min_p = 1e-3;
  sent.seed = UINT64_MAX;
  sent.stop = {"\n", "Alice:"};
  const Chat got = chat_of(chat_parameters(sent));
  REQUIRE(got.messages.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(got.messages[i].role == sent.messages[i].role);
    CHECK(got.messages[i].content == sent.messages[i].content);
    CHECK(got.messages[i].reasoning == sent.messages[i].reasoning);
    CHECK(got.messages[i].call_id == sent.messages[i].call_id);
  }
  REQUIRE(got.messages[2].calls.size() == 1);
  CHECK(got.messages[2].calls[0].id == "c1");
  CHECK(got.messages[2].calls[0].name == "f");
  CHECK(got.messages[2].calls[0].arguments == "{\"a\": 1}");
  CHECK(got.tools == sent.tools);
  CHECK(got.thinking == sent.thinking);
  CHECK(got.max_tokens == sent.max_tokens);
  CHECK(got.top_k == sent.top_k);
  CHECK(got.temperature == sent.temperature);
  CHECK(got.top_p == sent.top_p);
  CHECK(got.min_p == sent.min_p);
  CHECK(got.seed == sent.seed);
  CHECK(got.stop == sent.stop);
}

TEST_CASE("F29 empty defaults and nulls are as good as nothing") {
  const Chat chat =
      chat_of(R"({"prompt":"","messages":null,"stop":[],"tools":[],"seed":null,"thinking":null})");
  CHECK(chat.messages.size() == 1);
  CHECK(chat.stop.empty());
  CHECK(chat.tools.empty());
  CHECK_FALSE(chat.seed);
}

TEST_CASE("F05 a turn of the assistant needs no content") {
  const Chat chat = chat_of(R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,
      "toolCalls":[{"name":"f","arguments":"{}"}]},{"role":"tool","content":"","toolCallId":"x"}]})");
  CHECK(chat.messages[1].content.empty());
  CHECK(chat.messages[2].call_id == "x");
}

TEST_CASE("F18 F19 a parameter that is wrong is named") {
  CHECK(refusal_of("{}") == "prompt: is missing: give prompt or messages");
  CHECK(refusal_of(R"({"prompt":"a","messages":[]})") ==
        "prompt: and messages exclude each other: give one of them");
  CHECK(refusal_of(R"({"messages":[]})") == "messages: must not be empty");
  CHECK(refusal_of(R"({"messages":{}})") == "messages: must be an array");
  CHECK(refusal_of(R"({"messages":[null]})") == "messages[0]: must be an object");
  CHECK(refusal_of(R"({"messages":[{"role":"user","content":"a"},{"role":"robot","content":"a"}]})") ==
        "messages[1].role: must be system, developer, user, assistant or tool");
  CHECK(refusal_of(R"({"messages":[{"role":"user"}]})") == "messages[0].content: is missing");
  CHECK(refusal_of(R"({"messages":[{"role":"user","content":["a"]}]})") ==
        "messages[0].content: must be a string");
  CHECK(refusal_of(R"({"messages":[{"role":"user","content":"","toolCallId":"1"}]})") ==
        "messages[0].toolCallId: belongs to messages of a tool");
  CHECK(refusal_of(R"({"messages":[{"role":"assistant","toolCalls":[{"name":"f","arguments":{}}]}]})") ==
        "messages[0].toolCalls[0].arguments: must be a string");
  CHECK(refusal_of(R"({"prompt":"a","temprature":1})") == "temprature: is not known here");
  CHECK(refusal_of(R"({"prompt":"a","prompt":"b"})") == "prompt: is given twice");
  CHECK(refusal_of(R"({"prompt":"a","tools":[1]})") == "tools[0]: must be an object");
  CHECK(refusal_of(R"({"prompt":"a","stop":"x"})") == "stop: must be an array");
  CHECK(refusal_of(R"({"prompt":"a","stop":["x",1]})") == "stop[1]: must be a string");
  for (const char* name : {"temperature", "topP", "minP"}) {
    const std::string field(name);
    CHECK(refusal_of("{\"prompt\":\"a\",\"" + field + "\":1e400}") == field + ": must be a finite number");
    CHECK(refusal_of("{\"prompt\":\"a\",\"" + field + "\":-1e400}") == field + ": must be a finite number");
    CHECK(refusal_of("{\"prompt\":\"a\",\"" + field + "\":\"0.5\"}") == field + ": must be a number");
    CHECK(refusal_of("{\"prompt\":\"a\",\"" + field + "\":true}") == field + ": must be a number");
  }
  for (const char* name : {"maxTokens", "topK"}) {
    const std::string field(name);
    CHECK(refusal_of("{\"prompt\":\"a\",\"" + field + "\":2147483648}") == field + ": must fit in 32 bits");
    CHECK(refusal_of("{\"prompt\":\"a\",\"" + field + "\":1.5}") == field + ": must be a whole number");
    CHECK(refusal_of("{\"prompt\":\"a\",\"" + field + "\":\"5\"}") == field + ": must be a whole number");
  }
  CHECK(refusal_of(R"({"prompt":"a","seed":-1})") == "seed: must be a whole number from 0 to 2^64 - 1");
  CHECK(refusal_of(R"({"prompt":"a","thinking":"yes"})") == "thinking: must be true or false");
}

TEST_CASE("what is no call ends the connection") {
  for (const char* message : {"", "{", "[]", "null", "{}", R"({"method":1})",
                              R"({"method":"a.b","parameters":[]})", R"({"method":"a.b","more":1})",
                              R"({"method":"a.b","extra":1})", R"({"method":"a.b","temperature":NaN})"}) {
    INFO(message);
    CHECK_THROWS_AS(read_call(message, "1"), ProtocolError);
  }
  CHECK_THROWS_AS(
      read_call(chat_call("{\"tools\":[" + std::string(70, '[') + std::string(70, ']') + "]}"), "1"),
      ProtocolError);
}

TEST_CASE("the service describes itself") {
  const std::string info = answer_to(R"({"method":"org.varlink.service.GetInfo"})");
  CHECK(info ==
        std::string(R"({"parameters":{"vendor":"Lockstep","product":"lockstepd","version":"1.2.3","url":"",)"
                    R"("interfaces":["org.varlink.service","org.lockstep.Inference"]}})") +
            '\0');
  const std::string description = answer_to(
      R"({"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"org.lockstep.Inference"}})");
  CHECK(description.find("interface org.lockstep.Inference\\n") != std::string::npos);
  CHECK(description.find("method Chat(\\n") != std::string::npos);
  CHECK(interface_text().substr(0, 2) == "# ");
}

TEST_CASE("calls that cannot be answered get Varlink's own errors") {
  const auto error = [](const char* name, const char* parameter, const char* value) {
    return std::string(R"({"error":"org.varlink.service.)") + name + R"(","parameters":{")" + parameter +
           "\":\"" + value + "\"}}" + '\0';
  };
  CHECK(answer_to(R"({"method":"org.lockstep.Inference.Chatt"})") ==
        error("MethodNotFound", "method", "org.lockstep.Inference.Chatt"));
  CHECK(answer_to(R"({"method":"org.lockstep.Other.Chat"})") ==
        error("InterfaceNotFound", "interface", "org.lockstep.Other"));
  CHECK(answer_to(R"({"method":"Chat"})") == error("InterfaceNotFound", "interface", ""));
  CHECK(answer_to(R"({"method":"org.varlink.service.GetInfo","parameters":{"a":1}})") ==
        error("InvalidParameter", "parameter", "a"));
  CHECK(answer_to(R"({"method":"org.varlink.service.GetAll"})") ==
        error("MethodNotFound", "method", "org.varlink.service.GetAll"));
  CHECK(
      answer_to(R"({"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":1}})") ==
      error("InvalidParameter", "parameter", "interface"));
  CHECK(answer_to(R"({"method":"org.lockstep.Inference.Status","upgrade":true})") ==
        error("MethodNotImplemented", "method", "org.lockstep.Inference.Status"));
  CHECK(answer_to(R"({"method":"org.lockstep.Inference.Status","oneway":true})").empty());
  CHECK(answer_to(R"({"method":"org.lockstep.Inference.Chat","oneway":true})").empty());
  CHECK(answer_to(R"({"method":"org.lockstep.Inference.Cancel","oneway":true})").empty());
  CHECK(answer_to(R"({"method":"org.lockstep.Inference.Nothing","oneway":true})").empty());
  CHECK(answer_to(R"({"method":"org.lockstep.Inference.Cancel","oneway":true,"upgrade":true})").empty());
}

TEST_CASE("the other methods are read as strictly") {
  const auto call = [](const std::string& method, const std::string& parameters, const char* more = "") {
    return R"({"method":"org.lockstep.Inference.)" + method + R"(","parameters":)" + parameters + more + "}";
  };
  const auto read = [](const std::string& text) { return std::get<Call>(read_call(text, "1")); };
  const Call complete = read(call("Complete", R"({"prompt":"a","seed":3,"stop":["b"]})", R"(,"more":true)"));
  CHECK(complete.more);
  CHECK_FALSE(complete.oneway);
  CHECK(std::get<Complete>(complete.what).prompt == "a");
  CHECK(std::get<Complete>(complete.what).seed == 3);
  CHECK(std::get<Complete>(complete.what).stop == std::vector<std::string>{"b"});
  CHECK(
      std::get<std::string>(std::get<Tokenize>(read(call("Tokenize", R"({"text":""})")).what).what).empty());
  const Call chat = read(call("Tokenize", R"({"prompt":"a","thinking":true})"));
  const auto& conversation = std::get<Conversation>(std::get<Tokenize>(chat.what).what);
  CHECK(conversation.messages[0].content == "a");
  CHECK(conversation.thinking == true);
  const Call cancel = read(call("Cancel", R"({"id":"x"})", R"(,"oneway":true)"));
  CHECK(cancel.oneway);
  CHECK(std::get<Cancel>(cancel.what).id == "x");
  CHECK(read(call("Status", "{}", R"(,"more":true)")).more);

  const auto refusal = [&](const std::string& method, const std::string& parameters) {
    const std::string bytes = answer_to(call(method, parameters));
    const auto reply = read_reply(std::string_view(bytes.data(), bytes.size() - 1));
    return reply.error ? reply.error->message : "";
  };
  CHECK(refusal("Complete", R"({"seed":1})") == "'prompt' is missing");
  CHECK(refusal("Complete", R"({"prompt":"a","messages":[]})") == "'messages' is not known here");
  CHECK(refusal("Tokenize", R"({})") == "'prompt' is missing: give prompt or messages");
  CHECK(refusal("Tokenize", R"({"text":"a","prompt":"b"})") == "'prompt' is not known here");
  CHECK(refusal("Cancel", R"({})") == "'id' is missing");
  CHECK(refusal("Status", R"({"a":1})") == "'a' is not known here");
}

TEST_CASE("mutated calls are refused or read, and nothing else happens") {
  const std::string seed = chat_call(
      R"({"messages":[{"role":"assistant","content":"hi","toolCalls":[{"id":"a","name":"b","arguments":"{}"}]}],)"
      R"("tools":[{"type":"function"}],"seed":1,"stop":["a"],"temperature":0.5,"maxTokens":7,"thinking":true})");
  constexpr unsigned first_seed = 7;
  std::mt19937 random(first_seed);
  int read = 0, answered = 0, closed = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string text = seed;
    for (int edits = static_cast<int>(random() % 3); edits >= 0; --edits) {
      const size_t at = random() % text.size();
      const size_t from = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, random() % 8); break;
        default: text.insert(at, text.substr(from, random() % 16));
      }
      if (text.empty()) text = " ";
    }
    try {
      const auto result = read_call(text, "1");
      if (const auto* answer = std::get_if<Answer>(&result)) {
        ++answered;
        const std::string& bytes = answer->bytes;
        if (!bytes.empty() && (bytes.find('\0') != bytes.size() - 1 ||
                               !read_reply(std::string_view(bytes.data(), bytes.size() - 1)).error))
          FAIL("round " << round << ": " << text);
      } else {
        ++read;
      }
    } catch (const ProtocolError&) {
      ++closed;
    }
  }
  CHECK(read > 300);
  CHECK(answered > 300);
  CHECK(closed > 300);
}
