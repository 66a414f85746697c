#include "daemon/openai/chat_request.h"

#include "daemon/openai/completion_request.h"
#include "daemon/openai/error.h"

#include "tests/catch.h"

namespace lockstep::test {
namespace {

using daemon::openai::ApiError;
using daemon::openai::Request;

engine::Sampling defaults() {
  engine::Sampling sampling;
  sampling.temperature = 0.6f;
  sampling.top_k = 20;
  return sampling;
}

Request read(const std::string& body) {
  return daemon::openai::read_chat_request(daemon::openai::parse_body(body), defaults());
}

// A request with one message and further fields.
std::string with(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"Hi"}])" + (fields.empty() ? "" : "," + fields) + "}";
}
std::string messages(const std::string& list) { return R"({"messages":)" + list + "}"; }

// The param of the refusal; the message must name it too.
std::string refused(const std::string& body) {
  try {
    read(body);
  } catch (const ApiError& error) {
    INFO(error.what());
    CHECK(error.status == 400);
    CHECK(error.type == "invalid_request_error");
    return error.param;
  }
  return "accepted";
}

TEST_CASE("sampling fields reach the engine, missing ones are the defaults") {
  const engine::Sampling plain = read(with("")).sampling;
  CHECK(plain.temperature == 0.6f);
  CHECK(plain.top_k == 20);
  CHECK(!plain.seed);
  CHECK(plain.max_tokens == 0);
  CHECK(plain.top_logprobs == -1);
  const engine::Sampling given =
      read(with(R"("temperature":0,"top_p":0.5,"top_k":7,"min_p":1e-2,"seed":18446744073709551615,
                   "ignore_eos":true,"logprobs":true,"top_logprobs":20,"stop":["a","b"])"))
          .sampling;
  CHECK(given.temperature == 0);
  CHECK(given.top_p == 0.5f);
  CHECK(given.top_k == 7);
  CHECK(given.min_p == 0.01f);
  CHECK(given.seed == UINT64_MAX);
  CHECK(given.ignore_end);
  CHECK(given.top_logprobs == 20);
  CHECK(given.stop == std::vector<std::string>{"a", "b"});
  CHECK(read(with(R"("logprobs":true)")).sampling.top_logprobs == 0);
  CHECK(read(with(R"("stop":"x")")).sampling.stop == std::vector<std::string>{"x"});
}

TEST_CASE("F18 numbers are numbers, finite and in range; the refusal has the param") {
  for (const char* name :
       {"temperature", "top_p", "min_p", "top_k", "seed", "max_tokens", "max_completion_tokens", "n",
        "top_logprobs", "presence_penalty", "frequency_penalty", "repetition_penalty"}) {
    for (const char* value :
         {"NaN", "Infinity", "-Infinity", "-3", "1e400", "-1e400", "\"0.5\"", "true", "[]", "{}"}) {
      INFO(name << ": " << value);
      CHECK(refused(with("\"" + std::string(name) + "\":" + value)) == name);
    }
    INFO(name);
    CHECK(refused(with("\"" + std::string(name) + "\":null")) == "accepted");
  }
  for (const char* name : {"top_k", "seed", "max_tokens", "n", "top_logprobs"}) {
    INFO(name);
    CHECK(refused(with("\"" + std::string(name) + "\":1.5")) == name);
    CHECK(refused(with("\"" + std::string(name) + "\":1e0")) == name);
  }
  CHECK(refused(with(R"("temperature":2.01)")) == "temperature");
  CHECK(refused(with(R"("top_p":1.01)")) == "top_p");
  CHECK(refused(with(R"("max_tokens":0)")) == "max_tokens");
  CHECK(refused(with(R"("max_tokens":2147483648)")) == "max_tokens");
  CHECK(refused(with(R"("seed":18446744073709551616)")) == "seed");
  CHECK(refused(with(R"("n":17)")) == "n");
  CHECK(read(with(R"("n":16)")).n == 16);
  CHECK(refused(with(R"("n":0,"stream":true)")) == "n");
  CHECK(refused(with(R"("logprobs":true,"top_logprobs":21)")) == "top_logprobs");
  CHECK(refused(with(R"("top_logprobs":2)")) == "top_logprobs");
  CHECK(read(with(R"("temperature":1e-400)")).sampling.temperature == 0);
}

TEST_CASE("priority and draft reach the engine") {
  CHECK(read(with("")).sampling.draft == engine::Sampling::Draft::priced);
  CHECK(read(with(R"("draft":false)")).sampling.draft == engine::Sampling::Draft::never);
  CHECK(read(with(R"("priority":-100)")).sampling.priority == -100);
  CHECK(refused(with(R"("draft":"no")")) == "draft");
  for (const char* wrong : {"-101", "101", "1.5", "\"1\"", "true"})
    CHECK(refused(with("\"priority\":" + std::string(wrong))) == "priority");
}

TEST_CASE("a completion's prompt: text or ids, one or several") {
  const auto completion = [](const std::string& fields) {
    return daemon::openai::read_completion_request(daemon::openai::parse_body("{" + fields + "}"),
                                                   defaults());
  };
  const auto param = [&](const std::string& fields) -> std::string {
    try {
      completion(fields);
    } catch (const ApiError& error) {
      CHECK(error.status == 400);
      return error.param;
    }
    return "accepted";
  };
  using Ids = std::vector<int32_t>;
  CHECK(std::get<std::string>(completion(R"("prompt":"a")").texts.at(0)) == "a");
  CHECK(std::get<Ids>(completion(R"("prompt":[1,2])").texts.at(0)) == Ids{1, 2});
  CHECK(completion(R"("prompt":["a",[3],"b"])").texts.size() == 3);
  CHECK(completion(R"("prompt":["a","b"],"n":8)").choices() == 16);
  const Request all = completion(
      R"("prompt":"a","echo":true,"max_tokens":3,"stop":"x","stream":true,"stream_options":{"include_usage":true},
         "best_of":1,"suffix":null,"user":"u","parse_special":true)");
  CHECK((all.echo && all.stream && all.include_usage && all.parse_special));
  CHECK(completion(R"("prompt":"a","logprobs":2)").sampling.top_logprobs == 2);
  CHECK(completion(R"("prompt":"a","logprobs":0)").sampling.top_logprobs == 0);
  CHECK(completion(R"("prompt":"a")").sampling.top_logprobs == -1);
  CHECK(param("") == "prompt");
  CHECK(param(R"("prompt":null)") == "prompt");
  CHECK(param(R"("prompt":[])") == "prompt");
  CHECK(param(R"("prompt":3)") == "prompt");
  CHECK(param(R"("prompt":[1,"a"])") == "prompt[1]");
  CHECK(param(R"("prompt":[1,-2])") == "prompt[1]");
  CHECK(param(R"("prompt":["a",[1.5]])") == "prompt[1][0]");
  CHECK(param(R"("prompt":["a","b","c"],"n":8)") == "n");
  CHECK(param(R"("prompt":"a","suffix":"b")") == "suffix");
  CHECK(param(R"("prompt":"a","best_of":2)") == "best_of");
  CHECK(param(R"("prompt":"a","logprobs":21)") == "logprobs");
  CHECK(param(R"("prompt":"a","logprobs":true)") == "logprobs");
  CHECK(completion(R"("prompt":"a","echo":true,"logprobs":1)").sampling.prompt_logprobs);
  CHECK(!completion(R"("prompt":"a","logprobs":1)").sampling.prompt_logprobs);
  CHECK(!completion(R"("prompt":"a","echo":true)").sampling.prompt_logprobs);
}

TEST_CASE("F30 penalties and biases reach the engine; what is no token or no bias is refused") {
  const engine::Sampling given =
      read(with(R"("presence_penalty":0.5,"frequency_penalty":-2,"repetition_penalty":1.1,
                                              "logit_bias":{"7":-100,"3":1.5,"7":2})"))
          .sampling;
  CHECK(given.presence_penalty == 0.5f);
  CHECK(given.frequency_penalty == -2.0f);
  CHECK(given.repetition_penalty == 1.1f);
  CHECK(given.logit_bias == std::vector<std::pair<int32_t, float>>{{3, 1.5f}, {7, 2.0f}});
  for (const char* bias : {R"({"a":1})", R"({"-1":1})", R"({"1.5":1})", R"({"":1})", R"({"99999999999":1})",
                           R"({"1":101})", R"({"1":"5"})", R"({"1":null})", "[1]", "3"}) {
    INFO(bias);
    CHECK(refused(with("\"logit_bias\":" + std::string(bias))) == "logit_bias");
  }
  std::string many = "\"0\":1";
  for (int i = 1; i <= 1024; ++i) many += ",\"" + std::to_string(i) + "\":1";
  CHECK(refused(with(R"("logit_bias":{)" + many + "}")) == "logit_bias");
  CHECK(refused(with(R"("presence_penalty":2.1)")) == "presence_penalty");
  CHECK(refused(with(R"("repetition_penalty":0)")) == "repetition_penalty");
}

TEST_CASE("F07 the smaller of max_tokens and max_completion_tokens counts") {
  CHECK(read(with(R"("max_tokens":7)")).sampling.max_tokens == 7);
  CHECK(read(with(R"("max_completion_tokens":5)")).sampling.max_tokens == 5);
  CHECK(read(with(R"("max_tokens":7,"max_completion_tokens":5)")).sampling.max_tokens == 5);
  CHECK(read(with(R"("max_tokens":4,"max_completion_tokens":5)")).sampling.max_tokens == 4);
  CHECK(read(with(R"("max_tokens":null,"max_completion_tokens":5)")).sampling.max_tokens == 5);
}

TEST_CASE("F19 wrong types are refused") {
  for (const char* body : {"", "  ", "{:", "[]", "null", "3", "\"x\"", "{}", "{\"messages\":[", "\xff"}) {
    INFO(body);
    CHECK(refused(body) != "accepted");
  }
  CHECK(refused(with(R"("stream":"true")")) == "stream");
  CHECK(refused(with(R"("stream":1)")) == "stream");
  CHECK(refused(with(R"("model":1)")) == "model");
  CHECK(refused(with(R"("user":1)")) == "user");
  CHECK(refused(with(R"("logprobs":2)")) == "logprobs");
  CHECK(refused(with(R"("ignore_eos":0)")) == "ignore_eos");
  CHECK(refused(with(R"("stream_options":true)")) == "stream_options");
  CHECK(refused(with(R"("stream_options":{"include_usage":1})")) == "stream_options.include_usage");
  CHECK(refused(with(R"("chat_template_kwargs":[])")) == "chat_template_kwargs");
  CHECK(refused(with(R"("chat_template_kwargs":{"enable_thinking":"no"})")) ==
        "chat_template_kwargs.enable_thinking");
  CHECK(refused(with(R"("reasoning_effort":true)")) == "reasoning_effort");
  CHECK(refused(with(R"("reasoning_effort":"huge")")) == "reasoning_effort");
  CHECK(refused(messages("{}")) == "messages");
  CHECK(refused(messages("[]")) == "messages");
  CHECK(refused(messages("null")) == "messages");
  CHECK(refused(messages("[null]")) == "messages[0]");
  CHECK(refused(messages(R"([{"role":"user","content":"a"},{"content":"b"}])")) == "messages[1].role");
  CHECK(refused(messages(R"([{"role":"robot","content":"a"}])")) == "messages[0].role");
  CHECK(refused(messages(R"([{"role":"user","content":1}])")) == "messages[0].content");
  CHECK(refused(messages(R"([{"role":"user"}])")) == "messages[0].content");
  CHECK(refused(messages(R"([{"role":"assistant","content":null}])")) == "messages[0].content");
}

TEST_CASE("F29 empty defaults, nulls and unknown fields are taken") {
  CHECK(refused(with(R"("logit_bias":{},"stop":null,"tools":[],"response_format":{"type":"text"},"user":"",
                        "modalities":["text"],"presence_penalty":0,"frequency_penalty":0.0,"repetition_penalty":1.0,
                        "tool_choice":null,"parallel_tool_calls":true,"n":1,"functions":[],"stop":[],
                        "never_heard_of":{"a":[1]},"stream_options":null,"audio":null,"metadata":{"a":"b"})")) ==
        "accepted");
}

TEST_CASE("known fields without an implementation are refused by name") {
  for (const char* field :
       {R"("functions":[{}])", R"("function_call":"auto")", R"("audio":{})", R"("modalities":["audio"])",
        R"("prediction":{})", R"("grammar":"x")", R"("guided_json":{})", R"("json_schema":{})",
        R"("guided_regex":"a")", R"("structured_outputs":{})"}) {
    INFO(field);
    const std::string name = std::string(field).substr(1, std::string(field).find('"', 1) - 1);
    CHECK(refused(with(field)) == name);
  }
}

TEST_CASE("F06 an array of text parts is the joined string, for every role") {
  for (const char* role : {"system", "developer", "user", "assistant", "tool"}) {
    const std::string head = R"([{"role":")" + std::string(role) + R"(","content":)";
    const auto joined = read(messages(head + R"([{"type":"text","text":"a"},{"type":"text","text":"b"}]}])"));
    const auto plain = read(messages(head + R"("ab"}])"));
    CHECK(joined.conversation.messages[0].content == "ab");
    CHECK(plain.conversation.messages[0].content == "ab");
    CHECK(joined.conversation.messages[0].role == role);
  }
  CHECK(refused(messages(R"([{"role":"user","content":[{"type":"image_url","image_url":{}}]}])")) ==
        "messages[0].content[0].type");
  CHECK(refused(messages(R"([{"role":"user","content":[{"type":"text"}]}])")) ==
        "messages[0].content[0].text");
  CHECK(refused(messages(R"([{"role":"user","content":["a"]}])")) == "messages[0].content[0]");
}

TEST_CASE("F05 an assistant's turn may go without content beside calls or thoughts") {
  for (const char* content : {R"("content":null,)", "", R"("content":"",)"}) {
    const Request request = read(
        messages(R"([{"role":"assistant",)" + std::string(content) +
                 R"("tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
                         {"role":"tool","tool_call_id":"c1","content":"ok"}])"));
    CHECK(request.conversation.messages[0].content.empty());
    CHECK(request.conversation.messages[0].calls.size() == 1);
    CHECK(request.conversation.messages[1].call_id == "c1");
  }
  CHECK(read(messages(R"([{"role":"assistant","reasoning_content":"hm"}])"))
            .conversation.messages[0]
            .reasoning == "hm");
}

TEST_CASE("F35 arguments of earlier calls: JSON text, an object, or nothing") {
  const auto call = [](const std::string& arguments) {
    return messages(R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":)" + arguments +
                    "}}]}]");
  };
  const auto arguments = [&](const std::string& given) {
    return read(call(given)).conversation.messages[0].calls[0].arguments;
  };
  CHECK(arguments(R"("{\"b\": 1.50, \"a\": \"x\"}")") == R"({"b":1.50,"a":"x"})");
  CHECK(arguments(R"({"b":1.50,"a":"x"})") == R"({"b":1.50,"a":"x"})");
  CHECK(arguments(R"("")") == "{}");
  CHECK(arguments(R"("null")") == "{}");
  CHECK(arguments("null") == "{}");
  const std::string param = "messages[0].tool_calls[0].function.arguments";
  CHECK(refused(call(R"("[1]")")) == param);
  CHECK(refused(call(R"("{bad")")) == param);
  CHECK(refused(call("3")) == param);
}

TEST_CASE("tools are checked and passed on with their keys' order and digits") {
  const std::string tool =
      R"({"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","minimum":1.50,"a":12345678901234567890}}})";
  const Request request = read(with(R"("tools":[)" + tool + R"(],"tool_choice":"auto")"));
  CHECK(request.conversation.tools == std::vector<std::string>{tool});
  CHECK(read(with(R"("tools":[)" + tool + R"(],"tool_choice":"none")")).conversation.tools.empty());
  CHECK(refused(with(R"("tools":{})")) == "tools");
  CHECK(refused(with(R"("tools":[1])")) == "tools[0]");
  CHECK(refused(with(R"("tools":[{"type":"retrieval"}])")) == "tools[0].type");
  CHECK(refused(with(R"("tools":[{"type":"function"}])")) == "tools[0].function");
  CHECK(refused(with(R"("tools":[{"type":"function","function":{}}])")) == "tools[0].function.name");
  CHECK(refused(with(R"("tools":[{"type":"function","function":{"name":"a b"}}])")) ==
        "tools[0].function.name");
  CHECK(refused(with(R"("tools":[{"type":"function","function":{"name":"a","parameters":"x"}}])")) ==
        "tools[0].function.parameters");
  CHECK(refused(with(R"("tools":[{"type":"function","function":{"name":"a","strict":1}}])")) ==
        "tools[0].function.strict");
  std::string many = tool;
  for (int i = 0; i < 128; ++i) many += "," + tool;
  CHECK(refused(with(R"("tools":[)" + many + "]")) == "tools");
}

TEST_CASE("F10 tool_choice and parallel_tool_calls become the reply's form") {
  using Calls = engine::ReplyForm::Calls;
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f"}}],)";
  const std::string strict = R"("tools":[{"type":"function","function":{"name":"f","strict":true}}],)";
  const auto form = [](const std::string& fields) { return read(with(fields)).conversation.form; };
  CHECK(form(tools + R"("tool_choice":"auto")").calls == Calls::free);
  CHECK(form(strict + R"("tool_choice":"auto")").calls == Calls::checked);
  CHECK(form(strict + R"("tool_choice":"none")").calls == Calls::free);
  CHECK(form(tools + R"("tool_choice":"required")").calls == Calls::required);
  CHECK(form(tools + R"("tool_choice":"required","response_format":{"type":"json_object"})").schema.empty());
  const auto named = form(tools + R"("tool_choice":{"type":"function","function":{"name":"f"}})");
  CHECK(named.calls == Calls::required);
  CHECK(named.functions == std::vector<std::string>{"f"});
  CHECK(named.single_call);
  CHECK(form(tools + R"("parallel_tool_calls":false)").single_call);
  CHECK_FALSE(form(tools + R"("parallel_tool_calls":true)").single_call);
  CHECK(refused(with(R"("tool_choice":"required")")) == "tool_choice");
  CHECK(refused(with(tools + R"("tool_choice":"any")")) == "tool_choice");
  CHECK(refused(with(tools + R"("tool_choice":3)")) == "tool_choice");
  CHECK(refused(with(tools + R"("tool_choice":{})")) == "tool_choice.type");
  CHECK(refused(with(tools + R"("tool_choice":{"type":"custom"})")) == "tool_choice.type");
  CHECK(refused(with(tools + R"("tool_choice":{"type":"function"})")) == "tool_choice.function");
  CHECK(refused(with(tools + R"("tool_choice":{"type":"function","function":{}})")) ==
        "tool_choice.function.name");
  CHECK(refused(with(R"("parallel_tool_calls":1)")) == "parallel_tool_calls");
}

TEST_CASE("F14 response_format becomes the schema of the reply's form") {
  const auto form = [](const std::string& format) {
    return read(with("\"response_format\":" + format)).conversation.form;
  };
  CHECK(form(R"({"type":"text"})").schema.empty());
  CHECK(form(R"({"type":"json_object"})").schema == R"({"type":"object"})");
  const std::string schema = R"({"type":"integer","minimum":1.50})";
  CHECK(form(R"({"type":"json_schema","json_schema":{"name":"n","schema":)" + schema + "}}").schema ==
        schema);
  CHECK_FALSE(form(R"({"type":"json_schema","json_schema":{"schema":true}})").strict);
  CHECK(form(R"({"type":"json_schema","json_schema":{"schema":{},"strict":true}})").strict);
  const auto at = [](const std::string& format) { return refused(with("\"response_format\":" + format)); };
  CHECK(at("3") == "response_format");
  CHECK(at("{}") == "response_format.type");
  CHECK(at(R"({"type":"xml"})") == "response_format.type");
  CHECK(at(R"({"type":"json_schema"})") == "response_format.json_schema");
  CHECK(at(R"({"type":"json_schema","json_schema":{}})") == "response_format.json_schema.schema");
  CHECK(at(R"({"type":"json_schema","json_schema":{"schema":"x"}})") == "response_format.json_schema.schema");
  CHECK(at(R"({"type":"json_schema","json_schema":{"schema":{},"strict":1}})") ==
        "response_format.json_schema.strict");
}

TEST_CASE("F16 a deep tools array or ignored field is refused at once") {
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  CHECK(refused(with(R"("tools":)" + deep)).starts_with("tools"));
  CHECK(refused(with(R"("ignored":)" + deep)).starts_with("ignored"));
}

TEST_CASE("stop strings have limits") {
  CHECK(refused(with(R"("stop":"")")) == "stop");
  CHECK(refused(with(R"("stop":["a",1])")) == "stop[1]");
  CHECK(refused(with(R"("stop":3)")) == "stop");
  CHECK(refused(with(R"("stop":")" + std::string(257, 'x') + "\"")) == "stop");
  std::string seventeen = "\"a\"";
  for (int i = 0; i < 16; ++i) seventeen += ",\"a\"";
  CHECK(refused(with(R"("stop":[)" + seventeen + "]")) == "stop");
}

TEST_CASE("thinking: reasoning_effort, and chat_template_kwargs which wins") {
  CHECK(!read(with("")).conversation.thinking);
  CHECK(read(with(R"("reasoning_effort":"none")")).conversation.thinking == false);
  CHECK(read(with(R"("reasoning_effort":"low")")).conversation.thinking == true);
  const auto both = read(
      with(R"("reasoning_effort":"high","chat_template_kwargs":{"enable_thinking":false,"b":1.0,"a":"x"})"));
  CHECK(both.conversation.thinking == false);
  CHECK(both.conversation.template_arguments == R"({"b":1.0,"a":"x"})");
}

}  // namespace
}  // namespace lockstep::test
