#include "daemon/bridge.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "daemon/limits.h"
#include "tests/catch.h"
#include "tests/daemon/fake_engine.h"

namespace lockstep::test {
namespace {

using daemon::Bridge;
using daemon::Event;
using daemon::Progress;
namespace asio = boost::asio;

// Takes until a Reply or an error comes; the length of each delta's text.
asio::awaitable<void> take_all(std::shared_ptr<Bridge> bridge, std::vector<std::size_t>& lengths,
                               int& waits) {
  for (;;) {
    std::vector<Event> events = bridge->take();
    for (const Event& event : events) {
      if (const auto* delta = std::get_if<engine::Delta>(&event)) lengths.push_back(delta->content.size());
      if (!std::holds_alternative<engine::Delta>(event) && !std::holds_alternative<Progress>(event))
        co_return;
    }
    ++waits;
    co_await bridge->wait(std::chrono::seconds(10));
  }
}

TEST_CASE("events cross from another thread in order, and a waiting reader is woken") {
  asio::io_context io;
  auto bridge = std::make_shared<Bridge>(io.get_executor());
  const std::shared_ptr<engine::Sink> sink = bridge->sink(0);
  std::vector<std::size_t> lengths;
  int waits = 0;
  asio::co_spawn(io, take_all(bridge, lengths, waits), asio::detached);
  std::thread engine([&] {
    for (std::size_t i = 0; i < 2000; ++i) {
      sink->delta(text(std::string(i % 50, 'x')));
      if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    sink->done({});
  });
  const auto begun = std::chrono::steady_clock::now();
  io.run();
  engine.join();
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(5));
  REQUIRE(lengths.size() == 2000);
  for (std::size_t i = 0; i < lengths.size(); ++i) CHECK(lengths[i] == i % 50);
  CHECK(waits > 0);
}

TEST_CASE("progress that nobody took is replaced by the newer") {
  asio::io_context io;
  auto bridge = std::make_shared<Bridge>(io.get_executor());
  const std::shared_ptr<engine::Sink> sink = bridge->sink(0);
  for (int i = 0; i < 100; ++i) sink->progress(i, 100);
  const std::vector<Event> events = bridge->take();
  REQUIRE(events.size() == 1);
  CHECK(std::get<Progress>(events[0]).read == 99);
  sink->progress(1, 100);
  bridge->sink(1)->progress(2, 50);
  const std::vector<Event> two = bridge->take();
  REQUIRE(two.size() == 2);
  CHECK(two[1].choice == 1);
}

TEST_CASE("beyond its limit the bridge tells once and drops what follows") {
  asio::io_context io;
  auto bridge = std::make_shared<Bridge>(io.get_executor());
  const std::shared_ptr<engine::Sink> sink = bridge->sink(0);
  int overflows = 0;
  bridge->set_on_overflow([&] { ++overflows; });
  const std::size_t size = 100'000;
  for (int i = 0; i < 100; ++i) sink->delta(text(std::string(size, 'x')));
  io.run();
  CHECK(overflows == 1);
  const std::size_t held = bridge->take().size();
  CHECK(held >= 9);
  CHECK(held * size <= daemon::limits::bridge_bytes);
  CHECK(bridge->take().empty());
}

TEST_CASE("after an end of the daemon's own nothing more comes") {
  asio::io_context io;
  auto bridge = std::make_shared<Bridge>(io.get_executor());
  const std::shared_ptr<engine::Sink> sink = bridge->sink(0);
  bridge->end_with({engine::RequestError::Kind::cancelled, "stopping"});
  sink->failed({engine::RequestError::Kind::cancelled, "cancelled"});
  const std::vector<Event> events = bridge->take();
  REQUIRE(events.size() == 1);
  CHECK(std::get<engine::RequestError>(events[0]).what() == std::string("stopping"));
  bridge->close();
  sink->done({});
  CHECK(bridge->take().empty());
}

}  // namespace
}  // namespace lockstep::test
