// Which tokens a reply's form allows next.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/sampling/form/matcher.h"
#include "engine/tokenizer/tokenizer.h"

namespace lockstep::engine {

// Of one reply. A token is allowed if the reply with its bytes still begins a text of the grammar; an end
// token, if the reply is one. Other special tokens never are. Throws FormError when the form leaves too many
// ways open.
class FormFilter {
 public:
  FormFilter(std::shared_ptr<const Grammar> grammar, const Tokenizer& tokenizer,
             std::span<const int32_t> end_tokens)
      : matcher_(std::move(grammar)), tokenizer_(tokenizer), ends_(end_tokens.begin(), end_tokens.end()) {}

  bool allows(int32_t token);
  void accept(int32_t token);

 private:
  Matcher matcher_;
  const Tokenizer& tokenizer_;
  std::vector<int32_t> ends_;
};

}  // namespace lockstep::engine
