#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
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

// Connects as another user: the system call, unlike the function, changes the calling thread alone.
std::unique_ptr<LocalClient> client_of(const RunningApp& app, uid_t uid) {
  std::filesystem::permissions(app.local_socket(), std::filesystem::perms::all);
  for (const auto& folder :
       {app.local_socket().parent_path(), app.local_socket().parent_path().parent_path()})
    std::filesystem::permissions(folder, std::filesystem::perms{0755});
  std::unique_ptr<LocalClient> client;
  std::thread([&] {
    if (syscall(SYS_setresuid, -1, uid, -1) == 0) client = std::make_unique<LocalClient>(app);
  }).join();
  return client;
}

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

TEST_CASE("a receipt is given to those who ask, and Verify computes it anew") {
  RunningApp app(says_hello());
  LocalClient client(app);
  client.call("Chat", R"({"prompt":"Hi"})");
  const Value without = client.reply();
  CHECK(at(without, "parameters.final").find("receipt") == nullptr);
  CHECK(text_at(without, "parameters.final.parameters.topK") == "20");
  client.call("Chat", R"({"prompt":"Hi","temperature":0.5,"thinking":false,"seed":7,"receipt":true})");
  const Value reply = client.reply();
  const Value& receipt = at(reply, "parameters.final.receipt");
  CHECK(text_at(receipt, "parameters.temperature") == "0.5");
  CHECK(text_at(receipt, "parameters.seed") == "7");
  CHECK(at(receipt, "promptTokens").array()->size() == 8);  // user:Hi\n
  CHECK(at(receipt, "replyTokens").array()->size() == 2);
  // The fake engine's hashes are none: true ones instead.
  const std::string given =
      R"({"canonVersion":1,"model":"fake","fingerprint":")" + std::string(64, 'f') +
      R"(","chat":true,"parameters":{"temperature":0.5},"promptTokens":[1,2],"finish":"stop","promptSha":")" +
      engine::token_sha(std::vector<int32_t>{1, 2}) + R"(","tokenSha":")" +
      engine::token_sha(std::vector<int32_t>{0, 1}) + R"(","replyTokens":[0,1]})";
  client.call("Verify", R"({"receipt":)" + given + "}");
  CHECK(text_at(client.reply(), "parameters.verdict.equal") == "true");
  CHECK(app.engine().last_sampling().fresh);
  app.engine().set_script({.deltas = {text("a"), text("b")}, .prefill = 20ms});
  client.call("Verify", R"({"receipt":)" + given + "}", true);
  Value part = client.reply();
  CHECK(text_at(part, "parameters.progress.total") == "4");
  while (part.find("continues")) part = client.reply();
  CHECK(text_at(part, "parameters.verdict.replyTokens") == "2");
  client.call("Verify", "{}");
  CHECK(text_at(client.reply(), "parameters.field") == "receipt");
  client.call("Verify", R"({"receipt":{"canonVersion":1}})");
  CHECK(text_at(client.reply(), "parameters.field") == "receipt.model");
}

TEST_CASE("local Check tries the laws beside others, one at a time, and ends with its caller") {
  RunningApp app(says_hello());
  LocalClient client(app), other(app);
  client.call("Check", R"({"trials":2,"seed":3})");
  const Value whole = client.reply();
  CHECK(at(whole, "parameters.laws").array()->size() == 4);
  CHECK(text_at(whole, "parameters.laws.0.law") == "resumed = fresh");
  CHECK(text_at(whole, "parameters.laws.0.passed") == "2");
  client.call("Check", R"({"trials":0})");
  CHECK(text_at(client.reply(), "parameters.field") == "trials");
  app.engine().set_script({.deltas = {text("x")}, .a_token = 2ms, .endless = true});
  client.call("Check", R"({"trials":1000})", true);
  const Value progress = client.reply();
  CHECK(text_at(progress, "parameters.progress.failed") == "0");
  CHECK(text_at(progress, "continues") == "true");
  other.call("Check", "{}");
  CHECK(text_at(other.reply(), "error") == "org.lockstep.Inference.Busy");
  client.socket().close();
  app.engine().set_script({.deltas = {text("x")}});
  CHECK(eventually([&] {
    other.call("Check", R"({"trials":1})");
    return other.reply().find("error") == nullptr;
  }));
}

TEST_CASE("local Snapshots tells what is kept, to root and the service's user") {
  RunningApp::Setup setup = says_hello();
  TemporaryDirectory directory;
  setup.configure = [&](daemon::Configuration& c) { c.engine.snapshots = directory.path; };
  RunningApp app(setup);
  LocalClient client(app);
  client.call("Snapshots", "{}");
  const Value none = client.reply();
  CHECK(text_at(none, "parameters.directory") == directory.path.string());
  CHECK(at(none, "parameters.snapshots").array()->empty());
  if (geteuid() != 0) return;
  const auto somebody = client_of(app, 1001);
  REQUIRE(somebody);
  somebody->call("Snapshots", "{}");
  CHECK(text_at(somebody->reply(), "error") == "org.varlink.service.PermissionDenied");
}

TEST_CASE("local Complete continues the text as it is") {
  RunningApp app(says_hello());
  LocalClient client(app);
  client.call("Complete", R"({"prompt":"Once upon","maxTokens":4,"seed":5})");
  const Value whole = client.reply();
  CHECK(text_at(whole, "parameters.final.content") == "Hello");
  CHECK(text_at(whole, "parameters.final.usage.promptTokens") == "9");
  CHECK(app.engine().last_sampling().max_tokens == 4);
  client.call("Complete", R"({"prompt":"Once"})", true);
  CHECK(text_at(client.reply(), "parameters.accepted.promptTokens") == "4");
  while (client.reply().find("continues")) continue;
  client.call("Complete", R"({"prompt":""})");
  CHECK(text_at(client.reply(), "parameters.field") == "prompt");
}

TEST_CASE("local Tokenize gives the tokens of a text and of a whole prompt") {
  RunningApp app(says_hello());
  LocalClient client(app);
  client.call("Tokenize", R"({"text":"AB"})");
  CHECK(at(client.reply(), "parameters.tokens").array()->size() == 2);
  client.call("Tokenize", R"({"prompt":"AB"})");
  CHECK(at(client.reply(), "parameters.tokens").array()->size() == 8);  // user:AB\n
  client.call("Tokenize", R"({"prompt":"refuse me"})");
  CHECK(text_at(client.reply(), "error") == "org.lockstep.Inference.BadRequest");
  client.call("Tokenize", R"({"text":")" + std::string(1'000'001, 'x') + "\"}");
  CHECK(text_at(client.reply(), "parameters.field") == "text");
}

// A streamed call in work; its id.
std::string begin_endless(RunningApp& app, LocalClient& client) {
  app.engine().set_script({.deltas = {text("x")}, .a_token = 2ms, .endless = true});
  client.call("Chat", R"({"prompt":"Hi"})", true);
  return text_at(client.reply(), "parameters.accepted.id");
}

// The error that ends a streamed call.
Value error_of(LocalClient& client) {
  for (;;) {
    Value reply = client.reply();
    if (reply.find("error")) return reply;
  }
}

TEST_CASE("local Cancel ends a request by its id, one-way too") {
  RunningApp app(says_hello());
  LocalClient client(app), other(app);
  const std::string first = begin_endless(app, client);
  other.call("Cancel", R"({"id":"nothing"})");
  CHECK(text_at(other.reply(), "error") == "org.lockstep.Inference.NoSuchRequest");
  other.call("Cancel", R"({"id":")" + first + R"("})");
  CHECK(at(other.reply(), "parameters").object()->empty());
  CHECK(text_at(error_of(client), "error") == "org.lockstep.Inference.Cancelled");
  const std::string second = begin_endless(app, client);
  other.socket().send(R"({"method":"org.lockstep.Inference.Cancel","oneway":true,"parameters":{"id":")" +
                      second + "\"}}" + std::string(1, '\0'));
  CHECK(text_at(error_of(client), "parameters.message").starts_with("the request was cancelled by uid"));
  other.call("Status", "{}");
  const Value status = other.reply();  // accounts: what came over TCP, then this user's
  CHECK(text_at(status, "parameters.accounts.1.uid") == std::to_string(getuid()));
  CHECK(text_at(status, "parameters.accounts.1.cancelled") == "2");
}

TEST_CASE("local Cancel ends a request that came by HTTP") {
  RunningApp app(says_hello());
  LocalClient client(app);
  app.engine().set_script({.deltas = {text("x")}, .a_token = 2ms, .endless = true});
  HttpClient http = app.unix_client();
  http.send(chat_request(R"({"messages":[{"role":"user","content":"Hi"}]})"));
  std::string id;
  CHECK(eventually([&] {
    client.call("Status", "{}");
    const Value status = client.reply();
    if (at(status, "parameters.requests").array()->empty()) return false;
    CHECK(text_at(status, "parameters.requests.0.method") == "HTTP");
    CHECK(text_at(status, "parameters.requests.0.uid") == std::to_string(getuid()));
    CHECK(text_at(status, "parameters.requests.0.pid") == std::to_string(getpid()));
    id = text_at(status, "parameters.requests.0.id");
    return text_at(status, "parameters.requests.0.state") == "writing";
  }));
  client.call("Cancel", R"({"id":")" + id + R"("})");
  client.reply();
  const HttpAnswer answer = http.receive();
  CHECK(answer.status == 400);
  CHECK(text_at(answer.json(), "error.code") == "request_cancelled");
}

TEST_CASE("requests of one user are invisible to another, and cannot be cancelled by him") {
  if (geteuid() != 0) {
    WARN("skipped: becoming other users takes root");
    return;
  }
  RunningApp app(says_hello());
  const auto one = client_of(app, 1001), other = client_of(app, 1002), own = client_of(app, 1001);
  REQUIRE((one && other && own));
  const std::string id = begin_endless(app, *one);
  const auto requests_seen_by = [](LocalClient& client) {
    client.call("Status", "{}");
    const Value status = client.reply();
    CHECK(text_at(status, "parameters.active") == "1");  // how busy the daemon is, everybody may know
    return at(status, "parameters.requests").array()->size();
  };
  CHECK(requests_seen_by(*other) == 0);
  CHECK(requests_seen_by(*own) == 1);
  other->call("Status", "{}");
  CHECK(at(other->reply(), "parameters.accounts").array()->size() == 1);
  other->call("Cancel", R"({"id":")" + id + R"("})");
  CHECK(text_at(other->reply(), "error") == "org.lockstep.Inference.NoSuchRequest");
  own->call("Cancel", R"({"id":")" + id + R"("})");
  CHECK(own->reply().find("error") == nullptr);
  CHECK(text_at(error_of(*one), "error") == "org.lockstep.Inference.Cancelled");
}

TEST_CASE("local Status with `more` tells changes, and only those") {
  RunningApp app(says_hello());
  LocalClient watcher(app), client(app);
  watcher.call("Status", "{}", true);
  const Value first = watcher.reply();
  CHECK(text_at(first, "continues") == "true");
  CHECK(text_at(first, "parameters.served") == "0");
  client.call("Chat", R"({"prompt":"Hi"})");
  client.reply();
  Value next = watcher.reply();
  while (text_at(next, "parameters.served") != "1") next = watcher.reply();
  // Nothing happens, nothing is told; another client has answers meanwhile.
  client.call("Models", "{}");
  client.reply();
  app.terminate();
  Value last = watcher.reply();
  CHECK(text_at(last, "parameters.state") == "stopping");
  while (last.find("continues")) last = watcher.reply();
  CHECK(watcher.socket().closed_by_server());
  CHECK(app.wait() == daemon::ExitStatus::success);
}

TEST_CASE("a user may watch the status so many times") {
  RunningApp app(says_hello());
  std::vector<std::unique_ptr<LocalClient>> watchers;
  for (int i = 0; i < daemon::limits::watchers; ++i) {
    watchers.push_back(std::make_unique<LocalClient>(app));
    watchers.back()->call("Status", "{}", true);
    watchers.back()->reply();
  }
  LocalClient late(app);
  late.call("Status", "{}", true);
  CHECK(text_at(late.reply(), "error") == "org.lockstep.Inference.Busy");
  watchers.clear();
  CHECK(eventually([&] {
    late.call("Status", "{}", true);
    return late.reply().find("error") == nullptr;
  }));
}

TEST_CASE("a quarter of the queue is kept from any one user") {
  RunningApp::Setup setup = says_hello();
  setup.engine.lanes = 1;
  setup.engine.queue = 8;
  RunningApp app(setup);
  app.engine().set_script({.deltas = {text("x")}, .a_token = 2ms, .endless = true});
  std::vector<std::unique_ptr<LocalClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<LocalClient>(app));
    clients.back()->call("Chat", R"({"prompt":"Hi"})", true);
    const Value reply = clients.back()->reply();
    INFO(i);
    CHECK((reply.find("error") != nullptr) == (i == 7));
  }
  // TCP is somebody else.
  HttpClient http = app.client();
  http.send(chat_request(R"({"messages":[{"role":"user","content":"Hi"}]})"));
  CHECK(eventually([&] { return app.engine().status().queued == 7; }));
}

TEST_CASE("a connection that idles gives way to a new one") {
  RunningApp app(says_hello());
  LocalClient busy(app), idle(app);
  begin_endless(app, busy);
  idle.call("Models", "{}");
  idle.reply();
  std::vector<std::unique_ptr<LocalClient>> more;
  for (int i = 0; i < daemon::limits::user_connections + 50; ++i) {
    more.push_back(std::make_unique<LocalClient>(app));
    if (i % 50 == 0) {
      more.back()->call("Models", "{}");
      CHECK(text_at(more.back()->reply(), "parameters.models.0.name") == "fake");
    }
  }
  CHECK(idle.socket().closed_by_server());
  CHECK(text_at(busy.reply(), "parameters.delta.content") == "x");
  CHECK(app.client().get("/live").status == 200);
}

// Sends a message with an open file along.
void send_with_descriptor(HttpClient& socket, const std::string& bytes, int descriptor) {
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  REQUIRE(sendmsg(socket.descriptor(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
}

TEST_CASE("descriptors that are sent along are closed") {
  RunningApp app(says_hello());
  LocalClient client(app);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  send_with_descriptor(client.socket(),
                       R"({"method":"org.lockstep.Inference.Models"})" + std::string(1, '\0'), ends[1]);
  close(ends[1]);
  CHECK(text_at(client.reply(), "parameters.models.0.name") == "fake");
  char byte;
  CHECK(read(ends[0], &byte, 1) == 0);  // the last writer is gone
  close(ends[0]);
}

TEST_CASE("calls sent ahead are answered in order, and wait in the socket") {
  RunningApp app(says_hello());
  LocalClient client(app);
  std::string calls;
  for (int i = 0; i < 500; ++i)
    calls += R"({"method":"org.lockstep.Inference.)" + std::string(i % 2 ? "Models" : "Status") + "\"}" +
             std::string(1, '\0');
  std::thread sender([&] { client.socket().send(calls); });
  for (int i = 0; i < 500; ++i) {
    const Value reply = client.reply();
    if ((at(reply, "parameters").find("models") != nullptr) != (i % 2 == 1)) FAIL(i);
  }
  sender.join();
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
  CHECK(text_at(status, "parameters.lanes") == "4");
  CHECK(at(status, "parameters.requests").array()->empty());
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
  for (const char* method : {"Snapshots", "Check"}) {
    client.call(method, "{}");
    CHECK(text_at(client.reply(), "error") == "org.lockstep.Inference.NotReady");
  }
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

TEST_CASE("local peers cannot hold more memory than one user may have") {
  RunningApp app(says_hello());
  // Messages without an end, as many as fit; then one too many.
  constexpr std::size_t bytes = 15u << 20;
  const std::string endless = "{\"method\":\"" + std::string(bytes, 'x');
  std::vector<std::unique_ptr<LocalClient>> holders;
  for (std::size_t i = 0; i < daemon::limits::user_bodies_bytes / bytes; ++i) {
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
