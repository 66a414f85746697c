#include <thread>

#include "daemon/limits.h"
#include "ipc/ipc.h"
#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using daemon::json::Value;

// The raw socket of HttpClient, speaking NUL-terminated messages.
class LocalClient {
 public:
  explicit LocalClient(const RunningApp& app)
      : socket_(HttpClient::unix_socket(app.local_socket().string())) {}
  void call(const std::string& method, const std::string& parameters, bool more = false) {
    socket_.send(R"({"method":"org.lockstep.Inference.)" + method + R"(","parameters":)" + parameters +
                 (more ? ",\"more\":true}" : "}") + std::string(1, '\0'));
  }
  Value reply() {
    for (;;) {
      if (const auto message = frames_.next()) return daemon::json::parse(*message);
      const std::string bytes = socket_.receive_some(65536);
      if (bytes.empty()) throw std::runtime_error("closed");
      frames_.push(bytes);
    }
  }
  HttpClient& socket() { return socket_; }

 private:
  HttpClient socket_;
  ipc::FrameReader frames_;
};

RunningApp::Setup says_hello() {
  RunningApp::Setup setup;
  setup.engine.script.deltas = {text("Hel"), text("lo")};
  return setup;
}

TEST_CASE("local Chat: streamed and whole say the same") {
  RunningApp app(says_hello());
  LocalClient client(app);
  client.call("Chat",
              R"({"prompt":"Hi","temperature":0.5,"seed":7,"thinking":false,"stop":["x"],"maxTokens":9})");
  const Value whole = client.reply();
  CHECK(text_at(whole, "parameters.final.content") == "Hello");
  CHECK(text_at(whole, "parameters.final.finish") == "stop");
  CHECK(text_at(whole, "parameters.final.seed") == "7");
  CHECK(text_at(whole, "parameters.final.tokenSha").size() == 64);
  const engine::Sampling sampling = app.engine().last_sampling();
  CHECK(sampling.temperature == 0.5f);
  CHECK(sampling.top_k == 20);
  CHECK(sampling.max_tokens == 9);
  CHECK(sampling.stop == std::vector<std::string>{"x"});
  CHECK(app.engine().last_conversation().thinking == false);
  client.call("Chat", R"({"prompt":"Hi"})", true);
  std::string joined;
  for (;;) {
    const Value reply = client.reply();
    const Value& parameters = at(reply, "parameters");
    if (parameters.find("delta")) joined += text_at(parameters, "delta.content");
    if (!reply.find("continues") || text_at(reply, "continues") == "false") break;
  }
  CHECK(joined == "Hello");
}

TEST_CASE("local Models and Status") {
  RunningApp app(says_hello());
  LocalClient client(app);
  client.call("Models", "{}");
  CHECK(text_at(client.reply(), "parameters.models.0.name") == "fake");
  client.call("Status", "{}");
  const Value status = client.reply();
  CHECK(text_at(status, "parameters.state") == "ready");
  CHECK(text_at(status, "parameters.model") == "fake");
  CHECK(text_at(status, "parameters.version") == LOCKSTEP_VERSION);
}

TEST_CASE("local calls that go wrong get the protocol's errors") {
  RunningApp app(says_hello());
  LocalClient client(app);
  const auto error = [&](const std::string& parameters) {
    client.call("Chat", parameters);
    return client.reply();
  };
  const Value range = error(R"({"prompt":"Hi","topP":3})");
  CHECK(text_at(range, "error") == "org.lockstep.Inference.BadRequest");
  CHECK(text_at(range, "parameters.field") == "topP");
  const Value tokens = error(R"({"prompt":"Hi","maxTokens":0})");
  CHECK(text_at(tokens, "parameters.field") == "maxTokens");
  const Value overflow = error(R"({"prompt":")" + std::string(2000, 'x') + "\"}");
  CHECK(text_at(overflow, "error") == "org.lockstep.Inference.ContextOverflow");
  CHECK(text_at(overflow, "parameters.limit") == "1000");
  CHECK(text_at(overflow, "parameters.given") == "2006");
  client.call("Nothing", "{}");
  CHECK(text_at(client.reply(), "error") == "org.varlink.service.MethodNotFound");
  app.engine().set_script({.deltas = {text("x")}, .fail_after = 0});
  CHECK(text_at(error(R"({"prompt":"Hi"})"), "error") == "org.lockstep.Inference.DeviceFault");
}

TEST_CASE("local Chat before the model is there is NotReady") {
  RunningApp::Setup setup = says_hello();
  setup.loading = 400ms;
  setup.wait_until_ready = false;
  RunningApp app(setup);
  LocalClient client(app);
  client.call("Chat", R"({"prompt":"Hi"})");
  CHECK(text_at(client.reply(), "error") == "org.lockstep.Inference.NotReady");
  client.call("Status", "{}");
  CHECK(text_at(client.reply(), "parameters.state") == "starting");
  client.call("Models", "{}");
  CHECK(at(client.reply(), "parameters.models").array()->empty());
  CHECK(eventually([&] { return app.client().get("/health").status == 200; }));
}

TEST_CASE("F25 a local client that leaves has its call cancelled, one that stops writing has not") {
  RunningApp::Setup setup = says_hello();
  setup.engine.script.prefill = 300ms;
  RunningApp app(setup);
  LocalClient half(app);
  half.call("Chat", R"({"prompt":"Hi"})");
  half.socket().shut_down_writing();
  CHECK(text_at(half.reply(), "parameters.final.content") == "Hello");
  app.engine().set_script({.deltas = {text("x")}, .a_token = 2ms, .endless = true});
  LocalClient gone(app);
  gone.call("Chat", R"({"prompt":"Hi"})", true);
  REQUIRE(eventually([&] { return app.engine().status().active == 1; }));
  gone.socket().close();
  CHECK(eventually([&] { return app.engine().status().cancelled == 1; }));
}

TEST_CASE("local peers cannot hold more memory than all bodies together may have") {
  RunningApp app(says_hello());
  // Messages without an end, as many as fit; then one too many.
  constexpr std::size_t bytes = 15u << 20;
  const std::string endless = "{\"method\":\"" + std::string(bytes, 'x');
  std::vector<std::unique_ptr<LocalClient>> holders;
  for (std::size_t i = 0; i < daemon::limits::bodies_bytes / bytes; ++i) {
    holders.push_back(std::make_unique<LocalClient>(app));
    holders.back()->socket().send(endless);
  }
  LocalClient late(app);
  late.socket().try_send(endless);
  CHECK(text_at(late.reply(), "error") == "org.lockstep.Inference.Busy");
  LocalClient small(app);
  small.call("Chat", R"({"prompt":"Hi"})");
  CHECK(text_at(small.reply(), "parameters.final.content") == "Hello");
  // Room that is given back serves others.
  holders.clear();
  CHECK(eventually([&] {
    LocalClient client(app);
    client.socket().try_send(R"({"method":"org.lockstep.Inference.Chat","parameters":{"prompt":")" +
                             std::string(bytes, 'x') + R"("}})" + std::string(1, '\0'));
    return text_at(client.reply(), "error") == "org.lockstep.Inference.ContextOverflow";
  }));
}

TEST_CASE("a local peer that speaks something else is cut off, the daemon goes on") {
  RunningApp app(says_hello());
  LocalClient client(app);
  client.socket().send(std::string("GET / HTTP/1.1\r\n\r\n\0", 19));
  CHECK(client.socket().closed_by_server());
  LocalClient endless(app);
  for (int i = 0; i < 20 && endless.socket().try_send(std::string(1 << 20, 'x')); ++i) continue;
  CHECK(endless.socket().closed_by_server());
  CHECK(app.client().get("/live").status == 200);
}

}  // namespace
}  // namespace lockstep::test
