// tokenizer.json of Hugging Face's tokenizers, format version 1.0, as far as the Qwen families use it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/added_tokens.h"
#include "engine/tokenizer/merges.h"
#include "engine/tokenizer/split.h"

namespace lockstep::engine {

struct TokenizerFile {
  std::vector<std::string> tokens;         // bytes by id; empty: no such token
  std::array<int32_t, 256> byte_tokens{};  // ids of the single bytes
  std::vector<Merge> merges;               // in order of rank
  std::vector<AddedToken> added;
  SplitRule split{};
  bool nfc = false;  // text is normalized to NFC first
};

// Throws TokenizerError, whose text names the member of the file that is wrong or not supported.
TokenizerFile parse_tokenizer_file(std::string_view json);

}  // namespace lockstep::engine
