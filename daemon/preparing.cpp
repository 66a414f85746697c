#include "daemon/preparing.h"

#include <boost/asio/redirect_error.hpp>

#include "daemon/limits.h"

namespace lockstep::daemon {

namespace asio = boost::asio;

Preparing::Preparing(asio::any_io_executor io) : io_(std::move(io)), pool_(limits::prepare_threads) {}

asio::awaitable<Preparing::Place> Preparing::take(Account& account) {
  Waiter waiter{account, {io_, asio::steady_timer::time_point::max()}};
  const struct Listed {
    std::list<Waiter*>& list;
    const std::list<Waiter*>::iterator at;
    ~Listed() { list.erase(at); }
  } listed{waiting_, waiting_.insert(waiting_.end(), &waiter)};
  call_next();
  boost::system::error_code woken;
  while (!waiter.called) co_await waiter.timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  co_return Place(*this, account);
}

// Of the users who wait, the one whose last turn is longest ago.
void Preparing::call_next() {
  while (busy_ < limits::prepare_threads) {
    Waiter* next = nullptr;
    for (Waiter* waiter : waiting_) {
      const bool may = !waiter->called && waiter->account.preparing < limits::user_prepare_threads;
      if (may && (!next || waiter->account.last_turn < next->account.last_turn)) next = waiter;
    }
    if (!next) return;
    ++busy_;
    ++next->account.preparing;
    next->account.last_turn = ++turns_;
    next->called = true;
    next->timer.cancel();
  }
}

void Preparing::leave(Account& account) {
  --busy_;
  --account.preparing;
  call_next();
}

}  // namespace lockstep::daemon
