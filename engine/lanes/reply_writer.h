// From a reply's tokens to its text: bytes, complete characters, reasoning / content / tool calls, stop
// strings. Stop strings are looked for in the content only, never in reasoning or tool calls.
#pragma once

#include "engine/chat/chat_format.h"
#include "engine/engine.h"
#include "engine/sampling/stop.h"
#include "engine/tokenizer/tokenizer.h"

namespace lockstep::engine {

class ReplyWriter {
 public:
  ReplyWriter(const Tokenizer&, const Prompt&, const std::vector<std::string>& stop);

  // Adds what the token makes known to `delta`. False when the reply ends: a stop string has been completed,
  // or the call of a reply that may have only one.
  bool push(int32_t token, Delta& delta);
  // The rest that was held back; the reply is over.
  void finish(Delta& delta);

  int reasoning_tokens() const { return reasoning_tokens_; }
  bool called() const { return called_; }
  const std::string& stop() const { return stop_.match(); }  // the stop string that ended the reply, or empty

 private:
  void take(std::vector<ReplyPiece> pieces, Delta& delta);
  void content(std::string_view text, Delta& delta);

  const Tokenizer& tokenizer_;
  Utf8Stream characters_;
  std::optional<ReplyParser> parser_;  // of chat replies
  StopMatcher stop_;
  bool reasoning_;
  const bool single_call_;
  bool called_ = false;
  int reasoning_tokens_ = 0;
};

}  // namespace lockstep::engine
