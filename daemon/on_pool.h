// Work that takes long leaves the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <type_traits>
#include <utility>

namespace lockstep::daemon {

// Runs `work` on the pool; the caller goes on where it was.
template <typename Work>
boost::asio::awaitable<std::invoke_result_t<Work&>> on_pool(boost::asio::thread_pool& pool, Work work) {
  auto task = [](Work inner) -> boost::asio::awaitable<std::invoke_result_t<Work&>> { co_return inner(); };
  co_return co_await boost::asio::co_spawn(pool, task(std::move(work)), boost::asio::use_awaitable);
}

}  // namespace lockstep::daemon
