// Stop strings on the streamed text of a reply.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::engine {

// Sends a text on up to its first stop string, and holds back whatever may turn out to begin one.
//
// The first match is the one whose last byte comes first; of several that end there, the longest. The text
// sent is the same however it is cut into pushes, and no push leaves half a character behind when none
// brings one. Time is linear in the text, for each stop string.
class StopMatcher {
 public:
  static constexpr size_t max_stops = 16;
  static constexpr size_t max_bytes = 256;  // of one stop string

  // Throws std::invalid_argument when a limit is exceeded or a string is empty.
  explicit StopMatcher(std::vector<std::string> stops);

  std::string push(std::string_view text);  // what may be sent now; nothing after a match
  std::string finish();                     // the reply ended: what was held back
  bool matched() const { return !match_.empty(); }
  const std::string& match() const { return match_; }  // the stop string that was found, or empty

 private:
  struct Stop {
    std::string text;
    std::vector<size_t> border;  // of each prefix: its longest proper prefix that is also its suffix
    size_t seen = 0;             // bytes of `text` that the reply's end agrees with
  };
  std::vector<Stop> stops_;
  std::string held_;
  std::string match_;
};

}  // namespace lockstep::engine
