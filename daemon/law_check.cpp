#include "daemon/law_check.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

namespace lockstep::daemon {

std::shared_ptr<LawCheck> LawCheck::begin(boost::asio::thread_pool& pool, engine::Engine& engine, int trials,
                                          unsigned seed) {
  auto check = std::make_shared<LawCheck>();
  boost::asio::post(pool, [check, &engine, trials, seed] { check->run(engine, trials, seed); });
  return check;
}

void LawCheck::run(engine::Engine& engine, int trials, unsigned seed) {
  std::vector<engine::LawCount> laws;
  std::string error;
  try {
    laws = engine::check_served(engine, trials, seed, [this](const engine::LawCount& law) {
      const std::lock_guard lock(mutex_);
      latest_ = law;
      return !stopped_;
    });
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  const std::lock_guard lock(mutex_);
  laws_ = std::move(laws);
  error_ = std::move(error);
  over_ = true;
}

std::optional<engine::LawCount> LawCheck::progress() {
  const std::lock_guard lock(mutex_);
  return std::exchange(latest_, std::nullopt);
}

std::vector<engine::LawCount> LawCheck::laws() const {
  const std::lock_guard lock(mutex_);
  return laws_;
}

std::string LawCheck::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace lockstep::daemon
