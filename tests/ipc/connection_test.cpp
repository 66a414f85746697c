#include "ipc/connection.h"

#include <cerrno>

#include "tests/catch.h"
#include "tests/ipc/fake_daemon.h"

using namespace lockstep::ipc;
using lockstep::tests::FakeDaemon;

TEST_CASE("a call is sent whole and its replies come in order") {
  std::string call;
  FakeDaemon server([&](int client) {
    call = FakeDaemon::read_message(client);
    const std::string replies = progress_reply({1, 2}) + delta_reply({"a", "", {}}) + final_reply({});
    FakeDaemon::send_all(client, replies.substr(0, 30));
    FakeDaemon::send_all(client, replies.substr(30));
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
  FakeDaemon server([](int client) { FakeDaemon::read_message(client); });
  Connection connection(server.path());
  const std::string parameters = "{\"prompt\":\"" + std::string(most_message_bytes, 'x') + "\"}";
  CHECK_THROWS_AS(connection.call("Chat", parameters, true), ProtocolError);
}
