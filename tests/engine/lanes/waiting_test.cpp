#include "engine/lanes/waiting.h"

#include <string>

#include "tests/catch.h"

using namespace lockstep::engine;

namespace {

// Requests are told apart by the order in which they were made: 'a', 'b', …
struct Order {
  Waiting waiting;
  JobId made = 0;

  void add(const std::string& owners, int priority = 0) {
    for (const char owner : owners) {
      auto lane = std::make_unique<Lane>();
      lane->id = made++;
      lane->job.owner = static_cast<uint64_t>(owner);
      lane->job.sampling.priority = priority;
      waiting.add(std::move(lane));
    }
  }
  std::string begin(int count = 1000) {
    std::string out;
    while (!waiting.empty() && count-- > 0) out += static_cast<char>('a' + waiting.take_front()->id);
    return out;
  }
};

}  // namespace

TEST_CASE("requests of one owner begin in the order in which they came") {
  Order order;
  order.add("111");
  CHECK(order.begin(1) == "a");
  order.add("1");
  CHECK(order.begin() == "bcd");
}

TEST_CASE("owners take turns, whoever came first and however much he wants") {
  Order order;
  order.add("111111");
  CHECK(order.begin(2) == "ab");
  order.add("23");
  order.add("2");
  CHECK(order.begin(3) == "ghc");
  order.add("4");  // its first one is beside the second of 2, who came earlier
  CHECK(order.begin() == "ijdef");
}

TEST_CASE("a stream of single requests does not keep another owner's from their turns") {
  Order order;
  order.add("111");
  std::string seen;
  for (int i = 0; i < 4; ++i) {
    order.add("2");
    seen += order.begin(1);
  }
  CHECK(seen + order.begin() == "adbecfg");
}

TEST_CASE("an owner's priorities change the order of his own requests only") {
  Order order;
  order.add("1212");
  order.add("1", -5);
  order.add("1", -5);
  order.add("2", 5);
  CHECK(order.begin() == "ebfdagc");
}

TEST_CASE("what waits for all others does, and has no turn") {
  Order order;
  order.add("11", Sampling::last_priority + 1);
  order.add("1", Sampling::last_priority);
  order.add("2");
  CHECK(order.begin() == "cdab");
}

TEST_CASE("who takes a request back has his turn again; who has begun goes on first") {
  Order order;
  order.add("1112");
  CHECK(order.waiting.take(1)->id == 1);
  CHECK(order.waiting.take(2)->id == 2);
  CHECK(order.waiting.take(2) == nullptr);
  order.add("12");
  auto lane = order.waiting.take_front();
  CHECK(lane->id == 0);
  lane->admitted = Clock::now();
  order.waiting.put_back(std::move(lane));
  order.add("3");
  CHECK(order.begin() == "adgef");
}
