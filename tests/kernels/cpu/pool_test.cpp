#include "kernels/cpu/pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/catch.h"

using lockstep::kernels::cpu::Pool;

TEST_CASE("a pool runs every task once, whatever the threads and the number of tasks") {
  for (const int threads : {1, 2, 3, 5}) {
    Pool pool(threads);
    CHECK(pool.threads() == threads);
    for (const int tasks : {0, 1, 2, 3, 7, 64, 1000, 65535, 65536, 200000}) {
      std::vector<uint8_t> count(static_cast<size_t>(tasks), 0);
      pool.run(tasks, [&](int task) { ++count[static_cast<size_t>(task)]; });
      CHECK(std::count(count.begin(), count.end(), 1) == tasks);
    }
  }
}

TEST_CASE("a pool survives many tiny runs, each seeing the one before") {
  Pool pool(3);
  std::vector<int> value(16, 0);
  for (int i = 0; i < 20000; ++i) {
    // Each task reads its neighbour of the run before: a missing barrier or a stale task shows.
    std::vector<int> next(16);
    pool.run(16, [&](int t) { next[static_cast<size_t>(t)] = value[static_cast<size_t>((t + 1) % 16)] + 1; });
    value = next;
  }
  CHECK(value == std::vector<int>(16, 20000));
}

TEST_CASE("a pool waits for tasks that other threads are inside") {
  Pool pool(3);
  std::atomic<int> by_others{0};
  for (int i = 0; i < 40; ++i) {
    std::atomic<int> finished{0};
    const auto caller = std::this_thread::get_id();
    pool.run(6, [&](int) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      by_others += std::this_thread::get_id() != caller;
      ++finished;
    });
    CHECK(finished == 6);
  }
  CHECK(by_others > 0);
}

TEST_CASE("a pool hands on an exception and works afterwards") {
  for (const int threads : {1, 3}) {
    Pool pool(threads);
    for (int i = 0; i < 100; ++i) {
      CHECK_THROWS_AS(pool.run(8,
                               [](int t) {
                                 if (t == 5) throw std::runtime_error("five");
                               }),
                      std::runtime_error);
      std::atomic<int> sum{0};
      pool.run(8, [&](int t) { sum += t; });
      CHECK(sum == 28);
    }
  }
}

TEST_CASE("a pool works after it slept and uses no CPU meanwhile") {
  Pool pool(3);
  const auto once = [&] {
    std::atomic<int> sum{0};
    pool.run(100, [&](int t) { sum += t; });
    return sum.load();
  };
  CHECK(once() == 4950);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // long past the spinning
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 0.02);
  for (int i = 0; i < 50; ++i) {
    CHECK(once() == 4950);
    std::this_thread::sleep_for(std::chrono::microseconds(40 + i));  // about when a worker falls asleep
  }
}

TEST_CASE("a pool ends while its threads are late for its last run") {
  for (int i = 0; i < 2000; ++i) {
    Pool pool(2 + i % 7);
    std::atomic<int> count{0};
    for (int run = 0; run < i % 3; ++run) pool.run(16, [&](int) { ++count; });
    REQUIRE(count == i % 3 * 16);
  }
}

TEST_CASE("pools of one process do not disturb each other") {
  std::vector<std::thread> owners;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 2; ++i) {
    owners.emplace_back([&] {
      Pool pool(2);
      for (int k = 0; k < 300; ++k) {
        std::vector<int> seen(40, 0);
        pool.run(40, [&](int t) { seen[static_cast<size_t>(t)] = t + k; });
        for (int t = 0; t < 40; ++t) wrong += seen[static_cast<size_t>(t)] != t + k;
      }
    });
  }
  for (auto& owner : owners) owner.join();
  CHECK(wrong == 0);
}
