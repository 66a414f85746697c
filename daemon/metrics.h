// Counts and times since the start, for /metrics. I/O thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace lockstep::daemon {

// How often values fell into which bucket, as Prometheus counts them.
class Histogram {
 public:
  // The buckets' upper bounds, rising; the last bucket has none.
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void add(double value);
  void print(std::string_view name, std::string& out) const;

 private:
  std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

class Metrics {
 public:
  // `route`: a path that is served, or "other"; `key`: the label of the API key, or empty.
  void request(std::string_view route, int code, std::string_view key, double seconds);
  void first_token(double seconds) { first_token_.add(seconds); }
  void gap(double seconds) { gaps_.add(seconds); }  // between two pieces of a reply
  void print(std::string& out) const;

 private:
  using Labels = std::tuple<std::string, int, std::string>;
  std::map<Labels, uint64_t> requests_;
  Histogram seconds_{{0.005, 0.05, 0.25, 1, 5, 30, 120, 600}};
  Histogram first_token_{{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}};
  Histogram gaps_{{0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5}};
};

}  // namespace lockstep::daemon
