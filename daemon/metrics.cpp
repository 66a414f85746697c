#include "daemon/metrics.h"

#include <algorithm>
#include <charconv>

namespace lockstep::daemon {
namespace {

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

void Histogram::add(double value) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(bucket)];
  sum_ += value;
}

void Histogram::print(std::string_view name, std::string& out) const {
  const std::string prefix(name);
  out += "# TYPE " + prefix + " histogram\n";
  uint64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < bounds_.size() ? number(bounds_[i]) : "+Inf";
    out += prefix + "_bucket{le=\"" + bound + "\"} " + std::to_string(below) + "\n";
  }
  out += prefix + "_sum " + number(sum_) + "\n" + prefix + "_count " + std::to_string(below) + "\n";
}

void Metrics::request(std::string_view route, int code, std::string_view key, double seconds) {
  ++requests_[{std::string(route), code, std::string(key)}];
  seconds_.add(seconds);
}

void Metrics::print(std::string& out) const {
  out += "# TYPE lockstep_http_requests_total counter\n";
  for (const auto& [labels, count] : requests_) {
    const auto& [route, code, key] = labels;
    out += "lockstep_http_requests_total{route=\"" + route + "\",code=\"" + std::to_string(code) +
           "\",key=\"" + key + "\"} " + std::to_string(count) + "\n";
  }
  seconds_.print("lockstep_http_request_seconds", out);
  first_token_.print("lockstep_first_token_seconds", out);
  gaps_.print("lockstep_gap_seconds", out);
}

}  // namespace lockstep::daemon
