#include "ipc/ipc.h"
#include "tests/catch.h"

using namespace lockstep::ipc;

TEST_CASE("messages come whole, however the bytes arrive") {
  const std::string stream("one\0two\0\0three\0", 15);
  for (size_t step : {1, 2, 3, 5, 15}) {
    FrameReader reader;
    std::vector<std::string> messages;
    for (size_t at = 0; at < stream.size(); at += step) {
      reader.push(std::string_view(stream).substr(at, step));
      while (const auto message = reader.next()) messages.push_back(*message);
    }
    CHECK(messages == std::vector<std::string>{"one", "two", "", "three"});
  }
}

TEST_CASE("a message has a limit, and so has what is sent ahead") {
  FrameReader reader;
  reader.push(std::string(most_message_bytes, 'x'));
  CHECK_FALSE(reader.next());
  reader.push(std::string_view("\0", 1));
  const auto message = reader.next();
  REQUIRE(message);
  CHECK(message->size() == most_message_bytes);

  reader.push(std::string(most_message_bytes, 'y'));
  CHECK_THROWS_AS(reader.push("yy"), ProtocolError);

  FrameReader flooded;
  const std::string calls(1 << 20, '\0');
  for (int i = 0; i < 16; ++i) flooded.push(calls);
  CHECK_THROWS_AS(flooded.push(calls), ProtocolError);
}
