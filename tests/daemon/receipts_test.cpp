#include "daemon/receipts.h"

#include "tests/catch.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using daemon::to_request, daemon::verdict_on;

// Of a reply of four tokens to a prompt of three.
ipc::Receipt receipt_here(const FakeEngine& engine) {
  ipc::Receipt receipt;
  receipt.canon_version = engine.model().canon_version;
  receipt.model = engine.model().name;
  receipt.fingerprint = engine.model().fingerprint;
  receipt.chat = true;
  receipt.thinking = true;
  receipt.prompt = {7, 8, 9};
  receipt.prompt_sha = engine::token_sha(receipt.prompt);
  receipt.reply = {1, 2, 3, 4};
  receipt.token_sha = engine::token_sha(receipt.reply);
  receipt.finish = "stop";
  receipt.parameters.temperature = 0.7;
  receipt.parameters.seed = 5;
  receipt.parameters.max_tokens = 900;
  receipt.parameters.stop = {"x"};
  return receipt;
}

std::string refusal(const FakeEngine& engine, const ipc::Receipt& receipt) {
  try {
    to_request(receipt, engine, engine.default_sampling());
  } catch (const daemon::openai::ApiError& error) {
    return error.param + ": " + error.what();
  }
  return "taken";
}

TEST_CASE("a receipt becomes the request that computes its tokens anew") {
  FakeEngine engine({});
  ipc::Receipt receipt = receipt_here(engine);
  receipt.tools = {R"({"type":"function","function":{"name":"f","strict":true}})"};
  const auto request = to_request(receipt, engine, engine.default_sampling());
  CHECK(request.known_prompt == receipt.prompt);
  CHECK(request.conversation.thinking == true);
  CHECK(request.conversation.tools.size() == 1);
  CHECK(request.conversation.form.calls == engine::ReplyForm::Calls::checked);
  CHECK(request.sampling.temperature == 0.7f);
  CHECK(request.sampling.seed == 5);
  CHECK(request.sampling.stop == std::vector<std::string>{"x"});
  CHECK(request.sampling.max_tokens == 4);
  CHECK(request.sampling.fresh);
  CHECK(request.sampling.draft == engine::Sampling::Draft::never);
  receipt.chat = false;
  CHECK(std::get<std::vector<int32_t>>(to_request(receipt, engine, {}).texts.at(0)) == receipt.prompt);
}

TEST_CASE("receipts that cannot be verified here are refused, naming both sides") {
  FakeEngine engine({});
  const ipc::Receipt good = receipt_here(engine);
  CHECK(refusal(engine, good) == "taken");
  ipc::Receipt bad = good;
  bad.canon_version = 2;
  CHECK(refusal(engine, bad) ==
        "receipt.canonVersion: the receipt is of canon 2, and this daemon computes canon 1");
  bad = good;
  bad.model = "other";
  bad.fingerprint = std::string(64, '0');
  CHECK(refusal(engine, bad) ==
        "receipt.fingerprint: the receipt is of the model other (000000000000), and this daemon serves fake "
        "(ffffffffffff)");
  bad = good;
  bad.reply[2] = 9;
  CHECK(refusal(engine, bad).starts_with("receipt.replyTokens: "));
  bad = good;
  bad.prompt.push_back(1);
  CHECK(refusal(engine, bad).starts_with("receipt.promptTokens: "));
  bad = good;
  bad.reply.clear();
  bad.token_sha = engine::token_sha(bad.reply);
  CHECK(refusal(engine, bad) == "receipt.replyTokens: the receipt's reply is empty");
  bad = good;
  bad.finish = "done";
  CHECK(refusal(engine, bad).starts_with("receipt.finish: "));
  bad = good;
  bad.reply.assign(998, 1);
  bad.token_sha = engine::token_sha(bad.reply);
  CHECK(
      refusal(engine, bad) ==
      "receipt.promptTokens: the receipt's prompt and reply have 1001 tokens, and the context of this daemon "
      "is 1000");
}

TEST_CASE("a verdict has the first position that differs") {
  FakeEngine engine({});
  const ipc::Receipt receipt = receipt_here(engine);
  engine::Reply reply;
  const auto verdict = [&](std::vector<int32_t> tokens, engine::Finish finish) {
    reply.tokens = std::move(tokens);
    reply.finish = finish;
    return verdict_on(receipt, reply, engine.model());
  };
  using engine::Finish;
  CHECK(verdict({1, 2, 3, 4}, Finish::stop).equal);
  CHECK(!verdict({1, 2, 3, 4}, Finish::stop).position);
  CHECK(verdict({1, 2, 3, 4}, Finish::length).position == 4);
  const ipc::Verdict middle = verdict({1, 2, 9, 4}, Finish::stop);
  CHECK(!middle.equal);
  CHECK(middle.position == 2);
  CHECK(middle.expected == 3);
  CHECK(middle.computed == 9);
  const ipc::Verdict shorter = verdict({1, 2}, Finish::stop);
  CHECK(shorter.position == 2);
  CHECK(shorter.expected == 3);
  CHECK(!shorter.computed);
}

TEST_CASE("the parameters of a receipt are the floats that held") {
  engine::Sampling sampling;
  sampling.temperature = 0.7f;
  sampling.top_p = 0.1f + 0.2f;
  const ipc::Sampling out = daemon::parameters_of(sampling);
  CHECK(out.temperature == 0.7);
  CHECK(static_cast<float>(*out.top_p) == sampling.top_p);
}

}  // namespace
}  // namespace lockstep::test
