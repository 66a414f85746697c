// Text that remembers which of its bytes came from data (a user, a tool, a tool's description) and which
// are the chat template's own. Added tokens are recognised only inside the template's own bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::engine {

struct MarkedText {
  struct Run {
    size_t bytes;
    bool data;
  };
  std::string text;       // UTF-8
  std::vector<Run> runs;  // neighbours differ in `data`; bytes add up to text.size()

  void append(std::string_view more, bool data) {
    if (more.empty()) return;
    text += more;
    if (!runs.empty() && runs.back().data == data)
      runs.back().bytes += more.size();
    else
      runs.push_back({more.size(), data});
  }
  void append(const MarkedText& more) {
    size_t at = 0;
    for (const Run& run : more.runs) {
      append(std::string_view(more.text).substr(at, run.bytes), run.data);
      at += run.bytes;
    }
  }
};

}  // namespace lockstep::engine
