#include "engine/tokenizer/characters.h"
#include "engine/tokenizer/tokenizer.h"

namespace lockstep::engine {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Appends `bytes` to `out`, each maximal part that cannot become a character as one U+FFFD (the practice
// of Unicode 15 section 3.9, of WHATWG's decoder and of Rust). Returns how many bytes were used: fewer than
// all only when the rest is the beginning of a character.
size_t append_valid(std::string_view bytes, std::string& out) {
  size_t at = 0, kept = 0;  // bytes[kept, at) are well-formed and not yet in `out`
  while (at < bytes.size()) {
    bool complete;
    const size_t length = utf8_prefix(bytes.substr(at), complete);
    if (complete) {
      at += length;
      continue;
    }
    out += bytes.substr(kept, at - kept);
    kept = at;
    if (length > 0 && at + length == bytes.size()) return at;
    out += replacement;
    at += length > 0 ? length : 1;
    kept = at;
  }
  out += bytes.substr(kept);
  return bytes.size();
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  std::string text;
  if (held_.empty()) {
    held_ = bytes.substr(append_valid(bytes, text));
  } else {
    held_ += bytes;
    held_.erase(0, append_valid(held_, text));
  }
  return text;
}

std::string Utf8Stream::finish() {
  std::string text(held_.empty() ? std::string_view{} : replacement);
  held_.clear();
  return text;
}

}  // namespace lockstep::engine
