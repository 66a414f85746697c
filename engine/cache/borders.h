// Where in a prompt a checkpoint is worth keeping: positions that other requests' prompts are likely to
// share up to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lockstep::engine {

struct Border {
  int position;  // tokens of the prefix
  bool system;   // end of the system prompt
};

// Rising positions in (0, tokens.size()): the end of the first message, the start of the last two messages
// (an edited last turn; the next turn, which renders the opened reply anew), and every 2,048 tokens. A prompt
// without messages has one before its last token. `message_start`: the token that opens a message
// (<|im_start|>), where the model has one. Borders less than 16 tokens after another are left out, but for
// the last.
std::vector<Border> borders(std::span<const int32_t> tokens, std::optional<int32_t> message_start);

}  // namespace lockstep::engine
