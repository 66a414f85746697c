#include "daemon/preparing.h"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <string>
#include <thread>

#include "daemon/limits.h"
#include "tests/catch.h"

namespace lockstep::test {
namespace {

namespace asio = boost::asio;
using daemon::Account;
using daemon::Preparing;

// Work of users, each with a name; `order` is how it began.
struct Working {
  asio::io_context io;
  Preparing preparing{io.get_executor()};
  std::string order;
  std::atomic<int> at_once = 0, most = 0;

  asio::awaitable<void> work(Account& account, char name) {
    const Preparing::Place place = co_await preparing.take(account);
    order += name;
    auto step = [this] {
      const int now = ++at_once;
      if (now > most) most = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      --at_once;
      return 0;
    };
    co_await preparing.run(place, step);
  }
  void add(Account& account, const std::string& names) {
    for (const char name : names) asio::co_spawn(io, work(account, name), asio::detached);
  }
};

}  // namespace

TEST_CASE("nobody has all threads that prepare requests, and users take turns") {
  Account one, two, three;
  Working working;
  working.add(one, "aaaaaa");
  working.add(two, "bb");
  working.add(three, "c");
  working.io.run();
  CHECK(working.most == daemon::limits::prepare_threads);
  // b has a thread at once, c the first that comes free: its user has not had a turn yet.
  CHECK(working.order.substr(0, 3) == "abc");
  CHECK(working.order.size() == 9);
  CHECK(one.preparing == 0);
}

TEST_CASE("one user alone prepares his requests in order, a thread at a time") {
  Account one;
  Working working;
  working.add(one, "abcde");
  working.io.run();
  CHECK(working.order == "abcde");
  CHECK(working.most == daemon::limits::user_prepare_threads);
}

}  // namespace lockstep::test
