#include "engine/sampling/stop.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lockstep::engine {
namespace {

// One step of Knuth, Morris and Pratt: bytes matched once `byte` has been added to `seen` matched ones.
size_t step(const std::string& text, const std::vector<size_t>& border, size_t seen, char byte) {
  while (seen > 0 && text[seen] != byte) seen = border[seen];
  return text[seen] == byte ? seen + 1 : 0;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  if (stops.size() > max_stops)
    throw std::invalid_argument("there are " + std::to_string(stops.size()) + " stop strings; at most " +
                                std::to_string(max_stops) + " are allowed");
  for (std::string& text : stops) {
    if (text.empty()) throw std::invalid_argument("a stop string is empty; leave it out");
    if (text.size() > max_bytes)
      throw std::invalid_argument("a stop string has " + std::to_string(text.size()) + " bytes; at most " +
                                  std::to_string(max_bytes) + " are allowed");
    std::vector<size_t> border{0, 0};
    for (size_t i = 1; i < text.size(); ++i) border.push_back(step(text, border, border[i], text[i]));
    stops_.push_back({std::move(text), std::move(border)});
  }
}

std::string StopMatcher::push(std::string_view text) {
  if (matched()) return {};
  for (size_t at = 0; at < text.size(); ++at) {
    size_t stop = 0;  // length of the match that ends here
    for (Stop& s : stops_) {
      s.seen = step(s.text, s.border, s.seen, text[at]);
      if (s.seen == s.text.size()) stop = std::max(stop, s.seen);
    }
    if (stop == 0) continue;
    held_ += text.substr(0, at + 1);
    match_ = held_.substr(held_.size() - stop);
    held_.resize(held_.size() - stop);
    return std::exchange(held_, {});
  }
  size_t open = 0;  // bytes at the end that may begin a stop string
  for (const Stop& s : stops_) open = std::max(open, s.seen);
  held_ += text;
  std::string sent = held_.substr(0, held_.size() - open);
  held_.erase(0, sent.size());
  return sent;
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

}  // namespace lockstep::engine
