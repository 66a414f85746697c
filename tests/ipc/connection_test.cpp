#include "ipc/connection.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "tests/catch.h"

using namespace lockstep::ipc;

namespace {

// A socket in a folder of its own, with one server thread that runs `serve` on the first connection.
class Server {
 public:
  template <class Serve>
  explicit Server(Serve serve) {
    char pattern[] = "/tmp/lockstep-test-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    thread_ = std::thread([this, serve] {
      const int client = ::accept(listener_, nullptr, nullptr);
      serve(client);
      ::close(client);
    });
  }
  ~Server() {
    thread_.join();
    ::close(listener_);
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ + "/socket"; }

 private:
  std::string folder_;
  int listener_;
  std::thread thread_;
};

void send_all(int client, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(client, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += static_cast<size_t>(sent);
  }
}

std::string read_message(int client) {
  FrameReader frames;
  char buffer[4096];
  while (true) {
    if (auto message = frames.next()) return *message;
    const ssize_t got = ::read(client, buffer, sizeof buffer);
    if (got <= 0) return "";
    frames.push({buffer, static_cast<size_t>(got)});
  }
}

}  // namespace

TEST_CASE("a call is sent whole and its replies come in order") {
  std::string call;
  Server server([&](int client) {
    call = read_message(client);
    const std::string replies = progress_reply({1, 2}) + delta_reply({"a", "", {}}) + final_reply({});
    send_all(client, replies.substr(0, 30));
    send_all(client, replies.substr(30));
  });
  Connection connection(server.path());
  const std::string large(1 << 20, 'x');
  connection.call("Chat", "{\"prompt\":\"" + large + "\"}", true);
  Reply reply = connection.receive();
  CHECK(std::holds_alternative<Progress>(read_chat_reply(reply.parameters)));
  reply = connection.receive();
  CHECK(std::get<Delta>(read_chat_reply(reply.parameters)).content == "a");
  CHECK(reply.continues);
  reply = connection.receive();
  CHECK_FALSE(reply.continues);
  CHECK_THROWS_AS(connection.receive(), ConnectionError);
  CHECK(call ==
        R"({"method":"org.lockstep.Inference.Chat","parameters":{"prompt":")" + large + R"("},"more":true})");
}

TEST_CASE("what keeps a connection from being made is told apart") {
  const auto number_of = [](const std::string& path) {
    try {
      Connection connection(path);
    } catch (const ConnectionError& error) {
      return error.number;
    }
    return 0;
  };
  CHECK(number_of("/nonexistent/socket") == ENOENT);
  CHECK(number_of("/dev/null") == ECONNREFUSED);
  CHECK(number_of("/" + std::string(107, 'x')) == ENAMETOOLONG);
}

TEST_CASE("a request that is too long is not sent") {
  Server server([](int client) { read_message(client); });
  Connection connection(server.path());
  const std::string parameters = "{\"prompt\":\"" + std::string(most_message_bytes, 'x') + "\"}";
  CHECK_THROWS_AS(connection.call("Chat", parameters, true), ProtocolError);
}
