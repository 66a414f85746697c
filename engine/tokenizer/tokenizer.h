// Byte-level BPE as tokenizer.json of Hugging Face describes it, for the Qwen2 / Qwen3.5 pre-tokenizers.
//
// Text is valid UTF-8. Time is near linear in the text's length, stack use is constant.
// Threads: const members may be called from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/marked_text.h"

namespace lockstep::engine {

// tokenizer.json is missing, damaged or asks for something that is not supported; what() names it.
struct TokenizerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Tokenizer {
 public:
  static Tokenizer load(const std::filesystem::path& directory);  // reads tokenizer.json
  static Tokenizer parse(std::string_view tokenizer_json);
  Tokenizer(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Added tokens are recognised in the template's own bytes only.
  std::vector<int32_t> encode(const MarkedText& text) const;
  // `added`: recognise added tokens everywhere (as Hugging Face does), or nowhere.
  std::vector<int32_t> encode(std::string_view text, bool added) const;

  // The token's bytes (of an added token: its content); empty for an id without a token.
  std::string_view bytes(int32_t id) const;
  bool special(int32_t id) const;  // an added token flagged special: never part of a reply's text
  std::optional<int32_t> id(std::string_view token_content) const;  // of an added token
  int32_t size() const;                                             // largest id + 1

  // Text of a whole sequence; invalid UTF-8 becomes U+FFFD.
  std::string decode(std::span<const int32_t> ids, bool skip_special) const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

// Turns a stream of token bytes into valid UTF-8: holds back an unfinished character, replaces what can
// never become one by U+FFFD exactly as decoding the whole would.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);
  std::string finish();  // what was held back

 private:
  std::string held_;
};

}  // namespace lockstep::engine
