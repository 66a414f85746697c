// A model's texts and tokens: conversations as prompts, and tokens as text. Threads: const members may be
// called from any thread.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/chat_format.h"
#include "engine/engine.h"
#include "engine/tokenizer/tokenizer.h"

namespace lockstep::engine {

class Texts {
 public:
  // Reads tokenizer.json and the chat template. Throws TokenizerError and TemplateError.
  explicit Texts(const std::filesystem::path& directory);

  // As Engine's members of these names.
  Prompt prepare(const Conversation&) const;
  std::string render(const Conversation&) const;
  std::vector<int32_t> tokenize(std::string_view text, bool special) const;
  std::string detokenize(std::span<const int32_t>) const;

  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  const Tokenizer tokenizer_;
  const ChatFormat format_;
};

}  // namespace lockstep::engine
