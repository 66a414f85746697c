// The pre-tokenizers of the Qwen families: text is cut into words, which BPE never merges across.
#pragma once

#include <optional>
#include <string_view>

namespace lockstep::engine {

// Which regular expression tokenizer.json splits with.
enum class SplitRule {
  letters,           // Qwen2, Qwen3: words are runs of \p{L}
  letters_and_marks  // Qwen3.5: words are runs of [\p{L}\p{M}]
};

// The rule for an expression, nothing when it is not known.
std::optional<SplitRule> split_rule(std::string_view expression);

// Length in bytes of the word that starts text[at], at least 1: what the rule's expression matches there.
// Looks at each byte at most a few times, so a whole text takes linear time.
size_t word_length(SplitRule rule, std::string_view text, size_t at);

}  // namespace lockstep::engine
