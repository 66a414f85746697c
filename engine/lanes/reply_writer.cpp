#include "engine/lanes/reply_writer.h"

namespace lockstep::engine {

ReplyWriter::ReplyWriter(const Tokenizer& tokenizer, const Prompt& prompt,
                         const std::vector<std::string>& stop)
    : tokenizer_(tokenizer), stop_(stop), reasoning_(prompt.in_reasoning), single_call_(prompt.single_call) {
  if (prompt.chat) parser_.emplace(prompt.in_reasoning, prompt.tools);
}

bool ReplyWriter::push(int32_t token, Delta& delta) {
  reasoning_tokens_ += reasoning_;
  if (tokenizer_.special(token)) return true;
  const std::string text = characters_.push(tokenizer_.bytes(token));
  if (text.find("</think>") != std::string::npos) reasoning_ = false;
  if (parser_)
    take(parser_->push(text), delta);
  else
    content(text, delta);
  return !stop_.matched() && !(single_call_ && called_);
}

void ReplyWriter::finish(Delta& delta) {
  const std::string text = characters_.finish();
  if (parser_) {
    take(parser_->push(text), delta);
    take(parser_->finish(), delta);
  } else {
    content(text, delta);
  }
  delta.content += stop_.finish();
}

void ReplyWriter::take(std::vector<ReplyPiece> pieces, Delta& delta) {
  for (ReplyPiece& piece : pieces) {
    if (single_call_ && called_ && piece.kind != ReplyPiece::Kind::call_arguments) return;
    switch (piece.kind) {
      case ReplyPiece::Kind::reasoning: delta.reasoning += piece.text; break;
      case ReplyPiece::Kind::content:
        reasoning_ = false;
        content(piece.text, delta);
        break;
      case ReplyPiece::Kind::call_begin:
        reasoning_ = false;
        if (stop_.matched()) break;
        called_ = true;
        delta.calls.push_back({piece.call, std::move(piece.text), ""});
        break;
      case ReplyPiece::Kind::call_arguments:
        if (called_) delta.calls.push_back({piece.call, "", std::move(piece.text)});
        break;
    }
  }
}

void ReplyWriter::content(std::string_view text, Delta& delta) { delta.content += stop_.push(text); }

}  // namespace lockstep::engine
