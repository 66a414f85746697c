// What stops a template while it runs, and the work it may do.
//
// A template and a conversation together may cost `Meter::limit` units: one a byte made or scanned, what a
// value takes in memory, and Meter::step an expression or statement. So no input keeps a thread for more than
// a few seconds or holds more than about 1 GiB. Common templates cost 10 to 30 units a byte of the
// conversation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace lockstep::engine::language {

// An error of the running template, without its line: Template::render() adds it.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr size_t max_text_bytes = size_t{64} << 20;  // of one string and of the rendered prompt
constexpr int max_value_depth = 256;                 // lists and mappings inside each other
constexpr int max_levels = 1500;  // expressions, statements and macro calls inside each other

// Fault for a string larger than max_text_bytes.
inline void check_text_bytes(size_t bytes) {
  if (bytes > max_text_bytes) throw Fault("a text grows past 64 MiB");
}

class Meter {
 public:
  static constexpr uint64_t limit = uint64_t{1} << 30;
  static constexpr size_t step = 48;          // an expression or statement
  static constexpr size_t per_character = 6;  // a byte whose character's class is looked up
  static constexpr size_t value_bytes = 192;  // of a string besides its text

  void charge(size_t units) {
    used_ += units;
    if (used_ > limit) throw Fault("the template does more work than is allowed for one conversation");
  }
  // Before a string of `bytes` is made.
  void make(size_t bytes) {
    check_text_bytes(bytes);
    charge(bytes + value_bytes);
  }

 private:
  uint64_t used_ = 0;
};

}  // namespace lockstep::engine::language
