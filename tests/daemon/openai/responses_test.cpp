#include "daemon/limits.h"
#include "daemon/openai/error.h"
#include "daemon/openai/responses_request.h"
#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using daemon::json::Value;
using daemon::openai::ApiError;
using daemon::openai::Request;

const std::string path = "/v1/responses";

Request read(const std::string& text, daemon::openai::ResponsesStore& store) {
  return daemon::openai::read_responses_request(daemon::openai::parse_body(text), {}, store);
}

std::string refused(const std::string& text) {
  daemon::openai::ResponsesStore store;
  try {
    read(text, store);
  } catch (const ApiError& error) {
    INFO(error.what());
    CHECK(error.status == 400);
    return error.param;
  }
  return "accepted";
}

TEST_CASE("items become the conversation: reasoning, text and calls that follow each other are one turn") {
  daemon::openai::ResponsesStore store;
  const Request request = read(
      R"({"instructions":"Be short","reasoning":{"effort":"low"},"max_output_tokens":7,
          "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"integer"}}},
          "tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":null}],
          "input":[{"role":"user","content":"a"},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[]}]},
            {"type":"function_call","call_id":"c1","name":"f","arguments":"{\"n\":1}"},
            {"type":"function_call","call_id":"c2","name":"f","arguments":""},
            {"type":"function_call_output","call_id":"c1","output":"r"},
            {"role":"developer","content":[{"type":"input_text","text":"d"}]}]})",
      store);
  const auto& messages = request.conversation.messages;
  REQUIRE(messages.size() == 5);
  CHECK((messages[0].role == "system" && messages[0].content == "Be short"));
  CHECK((messages[2].content == "b" && messages[2].reasoning == "hm" && messages[2].calls.size() == 2));
  CHECK(messages[2].calls[1].arguments == "{}");
  CHECK((messages[3].role == "tool" && messages[3].call_id == "c1"));
  CHECK(messages[4].role == "developer");
  CHECK(request.sampling.max_tokens == 7);
  CHECK(request.conversation.thinking == true);
  CHECK(request.conversation.form.schema == R"({"type":"integer"})");
  CHECK(request.conversation.tools ==
        std::vector<std::string>{
            R"({"type":"function","function":{"name":"f","parameters":{"type":"object"}}})"});
}

TEST_CASE("F18 F19 what is wrong in a Responses request is refused by its place") {
  for (const auto& [fields, param] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "input"},
           {R"("input":[])", "input"},
           {R"("input":3)", "input"},
           {R"("input":[3])", "input[0]"},
           {R"("input":[{"role":"user","content":"a","id":3}])", "input[0].id"},
           {R"("input":[{"role":"robot","content":"a"}])", "input[0].role"},
           {R"("input":[{"role":"user","content":[{"type":"input_image"}]}])", "input[0].content[0].type"},
           {R"("input":[{"type":"item_reference","id":"x"}])", "input[0].type"},
           {R"("input":[{"type":"function_call","name":"f"}])", "input[0].call_id"},
           {R"("input":"a","temperature":true)", "temperature"},
           {R"("input":"a","max_output_tokens":0)", "max_output_tokens"},
           {R"("input":"a","background":true)", "background"},
           {R"("input":"a","truncation":"auto")", "truncation"},
           {R"("input":"a","tools":[{"type":"web_search"}])", "tools[0].type"},
           {R"("input":"a","include":["file_search_call.results"])", "include"},
           {R"("input":"a","store":1)", "store"},
           {R"("input":"a","instructions":1)", "instructions"},
           {R"("input":"a","conversation":"c")", "conversation"},
           {R"("input":"a","text":{"format":{"type":"xml"}})", "text.format.type"}}) {
    INFO(fields);
    CHECK(refused("{" + std::string(fields) + "}") == param);
  }
}

TEST_CASE("a response is kept, gone on from without its instructions, listed and deleted") {
  RunningApp app(says({thought("hm"), text("Hel"), text("lo")}));
  HttpClient client = app.client();
  const Value first =
      client.post(path, R"({"input":"Hi","instructions":"Be short","metadata":{"a":"b"}})").json();
  const std::string id = text_at(first, "id");
  CHECK(id.starts_with("resp_"));
  CHECK(text_at(first, "object") == "response");
  CHECK(text_at(first, "status") == "completed");
  CHECK(text_at(first, "output.0.content.0.text") == "hm");
  CHECK(text_at(first, "output.1.content.0.text") == "Hello");
  CHECK(text_at(first, "instructions") == "Be short");
  CHECK(text_at(first, "metadata.a") == "b");
  CHECK(text_at(first, "usage.output_tokens") == "3");
  CHECK(client.get(path + "/" + id).json().find("output") != nullptr);
  CHECK(text_at(client.get(path + "/" + id + "/input_items").json(), "data.0.content.0.text") == "Hi");
  const Value next = client.post(path, R"({"input":"More","previous_response_id":")" + id + "\"}").json();
  CHECK(text_at(next, "previous_response_id") == id);
  const auto& messages = app.engine().last_conversation().messages;
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].content == "Hi");
  CHECK((messages[1].role == "assistant" && messages[1].content == "Hello" && messages[1].reasoning == "hm"));
  client.send("DELETE " + path + "/" + id + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(text_at(client.receive().json(), "deleted") == "true");
  CHECK(client.get(path + "/" + id).status == 404);
  CHECK(client.post(path, R"({"input":"x","previous_response_id":")" + id + "\"}").status == 404);
  const std::string loose = text_at(client.post(path, R"({"input":"Hi","store":false})").json(), "id");
  CHECK(client.get(path + "/" + loose).status == 404);
}

TEST_CASE("the items of a response's request are listed a page at a time, in either order") {
  RunningApp app(says({text("Hello")}));
  HttpClient client = app.client();
  const char* input =
      R"({"input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]})";
  const std::string items = path + "/" + text_at(client.post(path, input).json(), "id") + "/input_items";
  const auto texts = [&](const std::string& query) {
    const Value page = client.get(items + query).json();
    std::string out;
    for (const Value& item : *at(page, "data").array()) out += text_at(item, "content.0.text");
    return out + (text_at(page, "has_more") == "true" ? "+" : "");
  };
  CHECK(texts("") == "cba");
  CHECK(texts("?order=asc") == "abc");
  CHECK(texts("?limit=2") == "cb+");
  CHECK(texts("?order=asc&limit=3") == "abc");
  const std::string last = text_at(client.get(items + "?limit=2").json(), "last_id");
  CHECK(texts("?limit=2&after=" + last) == "a");
  CHECK(texts("?order=asc&limit=1&after=" + last) == "c");
  CHECK(texts("?other=1&order=desc") == "cba");
  for (const auto& [query, param] :
       std::initializer_list<std::pair<std::string, std::string>>{{"?limit=0", "limit"},
                                                                  {"?limit=101", "limit"},
                                                                  {"?limit=x", "limit"},
                                                                  {"?limit=", "limit"},
                                                                  {"?order=up", "order"},
                                                                  {"?after=none", "after"}}) {
    INFO(query);
    const HttpAnswer answer = client.get(items + query);
    CHECK(answer.status == 400);
    CHECK(text_at(answer.json(), "error.param") == param);
  }
  const std::string response = items.substr(0, items.rfind('/'));
  CHECK(client.get(response + "?stream=false").status == 200);
  CHECK(text_at(client.get(response + "?stream=true").json(), "error.param") == "stream");
}

TEST_CASE("the store has a limit: the response used longest ago goes first") {
  daemon::openai::ResponsesStore store;
  const auto keep = [&](const std::string& id, std::size_t bytes) {
    daemon::openai::KeptResponse response{id, daemon::json::Object{}, {}, {}};
    response.messages.push_back({"user", std::string(bytes, 'x'), {}, {}, {}});
    store.keep(std::move(response));
  };
  const std::size_t quarter = daemon::limits::responses_bytes / 4;
  for (const char* id : {"a", "b", "c"}) keep(id, quarter);
  CHECK(store.find("a"));
  keep("d", quarter);
  CHECK(!store.find("b"));
  CHECK((store.find("a") && store.find("c") && store.find("d")));
  keep("huge", 5 * quarter);
  CHECK(!store.find("huge"));
  CHECK(store.remove("a"));
  CHECK_FALSE(store.remove("a"));
}

TEST_CASE("a streamed response: every item is added, grows and is done; the last event has it whole") {
  RunningApp app(says({thought("hm"), text("Hel"), text("lo"), call(0, "f", ""), call(0, "", R"({"a":1})")},
                      engine::Finish::tool_calls));
  HttpClient client = app.client();
  const HttpAnswer answer = client.post(path, R"({"input":"Hi","stream":true})");
  INFO(answer.body);
  std::vector<std::string> types;
  std::string said, last;
  int sequence = 0;
  for (std::size_t begin = 0; begin < answer.body.size();) {
    const std::size_t line = answer.body.find('\n', begin), end = answer.body.find("\n\n", begin);
    const Value event = daemon::json::parse(answer.body.substr(line + 7, end - line - 7));
    types.push_back(text_at(event, "type"));
    CHECK(answer.body.substr(begin, line - begin) == "event: " + types.back());
    CHECK(text_at(event, "sequence_number") == std::to_string(sequence++));
    if (types.back() == "response.output_text.delta") said += text_at(event, "delta");
    last = answer.body.substr(line + 7, end - line - 7);
    begin = end + 2;
  }
  CHECK(types == std::vector<std::string>{
                     "response.created", "response.in_progress", "response.output_item.added",
                     "response.reasoning_text.delta", "response.reasoning_text.done",
                     "response.output_item.done", "response.output_item.added", "response.content_part.added",
                     "response.output_text.delta", "response.output_text.delta", "response.output_text.done",
                     "response.content_part.done", "response.output_item.done", "response.output_item.added",
                     "response.function_call_arguments.delta", "response.function_call_arguments.done",
                     "response.output_item.done", "response.completed"});
  CHECK(said == "Hello");
  const Value completed = daemon::json::parse(last);
  CHECK(text_at(completed, "response.output.1.content.0.text") == "Hello");
  CHECK(text_at(completed, "response.output.2.arguments") == R"({"a":1})");
  CHECK(client.get(path + "/" + text_at(completed, "response.id")).status == 200);
}

}  // namespace
}  // namespace lockstep::test
