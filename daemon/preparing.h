// The threads that read requests, make prompts of them and do other work that would keep the I/O thread.
// Users take turns, and none has all threads: who sends much that takes long waits for himself. I/O thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <list>
#include <type_traits>
#include <utility>

#include "daemon/accounts.h"

namespace lockstep::daemon {

class Preparing {
 public:
  explicit Preparing(boost::asio::any_io_executor io);
  ~Preparing() { pool_.join(); }

  // A thread's time, until it is destroyed.
  class Place {
   public:
    Place(Preparing& from, Account& account) : from_(&from), account_(&account) {}
    Place(Place&& other) noexcept : from_(std::exchange(other.from_, nullptr)), account_(other.account_) {}
    ~Place() {
      if (from_) from_->leave(*account_);
    }

   private:
    Preparing* from_;
    Account* account_;
  };
  // Waits for the user's turn. The account must outlive the place.
  boost::asio::awaitable<Place> take(Account& account);

  // Runs `work` on a thread; the caller goes on where it was.
  template <typename Work>
  boost::asio::awaitable<std::invoke_result_t<Work&>> run(const Place&, Work work) {
    auto task = [](Work inner) -> boost::asio::awaitable<std::invoke_result_t<Work&>> { co_return inner(); };
    co_return co_await boost::asio::co_spawn(pool_, task(std::move(work)), boost::asio::use_awaitable);
  }

 private:
  struct Waiter {
    Account& account;
    boost::asio::steady_timer timer;
    bool called = false;
  };
  void call_next();
  void leave(Account& account);

  boost::asio::any_io_executor io_;
  boost::asio::thread_pool pool_;
  std::list<Waiter*> waiting_;  // in order of arrival
  int busy_ = 0;
  uint64_t turns_ = 0;
};

}  // namespace lockstep::daemon
