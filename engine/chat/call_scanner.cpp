#include "engine/chat/call_scanner.h"

#include <algorithm>

namespace lockstep::engine {
namespace {

constexpr std::string_view function_open = "<function=", function_close = "</function>",
                           parameter_open = "<parameter=", parameter_close = "</parameter>",
                           call_close = "</tool_call>";
constexpr size_t longest_name = 256;

}  // namespace

size_t CallScanner::skip_blanks(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t'))
    ++at;
  return at;
}

CallScanner::Match CallScanner::match(std::string_view text, size_t at, std::string_view word) const {
  const std::string_view there = text.substr(at, word.size());
  if (there == word) return Match::yes;
  return at + there.size() == text.size() && word.substr(0, there.size()) == there ? Match::unknown
                                                                                   : Match::no;
}

CallScanner::State CallScanner::scan(std::string_view text) {
  bool more = true;
  State state = State::open;
  while (more && state == State::open) {
    more = false;
    state = step(text, more);
  }
  return state;
}

CallScanner::State CallScanner::finish() const {
  return stage_ == Stage::end ? State::complete : State::malformed;
}

// One step ahead; `more` if another may follow at once.
CallScanner::State CallScanner::step(std::string_view text, bool& more) {
  if (stage_ == Stage::value) return value(text, more);
  if (stage_ == Stage::json) return scan_json(text, more);
  at_ = skip_blanks(text, at_);
  if (stage_ == Stage::start && at_ < text.size() && text[at_] == '{') {
    value_from_ = at_;
    stage_ = Stage::json;
    more = true;
    return State::open;
  }
  const std::string_view wanted = stage_ == Stage::start ? function_open
                                  : stage_ == Stage::end ? call_close
                                                         : parameter_open;
  const Match found = match(text, at_, wanted);
  if (found == Match::yes) {
    if (stage_ == Stage::start) return name(text, function_, Stage::between, more);
    if (stage_ == Stage::between) return name(text, parameter_, Stage::value, more);
    at_ += call_close.size();
    stage_ = Stage::done;
    return State::complete;
  }
  if (stage_ == Stage::between) {
    const Match closed = match(text, at_, function_close);
    if (closed == Match::yes) {
      at_ += function_close.size();
      stage_ = Stage::end;
      more = true;
      return State::open;
    }
    if (closed == Match::unknown) return State::open;
  }
  return found == Match::unknown ? State::open : State::malformed;
}

// <function=NAME> or <parameter=NAME> at at_.
CallScanner::State CallScanner::name(std::string_view text, std::string& into, Stage next, bool& more) {
  const size_t from = at_ + (next == Stage::between ? function_open : parameter_open).size();
  const size_t end = text.find_first_of("><\n", from);
  if (end == std::string_view::npos)
    return text.size() - from > longest_name ? State::malformed : State::open;
  if (text[end] != '>' || end == from || end - from > longest_name) return State::malformed;
  into = text.substr(from, end - from);
  at_ = value_from_ = end + 1;
  stage_ = next;
  more = true;
  return State::open;
}

CallScanner::State CallScanner::value(std::string_view text, bool& more) {
  const size_t close = text.find(parameter_close, at_);
  if (close == std::string_view::npos) {
    at_ = std::max(at_, text.size() - std::min(text.size(), parameter_close.size() - 1));
    return State::open;
  }
  at_ = close;
  const size_t after = skip_blanks(text, close + parameter_close.size());
  const Match next = match(text, after, parameter_open), end = match(text, after, function_close);
  if (next != Match::yes && end != Match::yes) {
    if (next == Match::unknown || end == Match::unknown) return State::open;
    at_ = close + parameter_close.size();  // part of the value
    more = true;
    return State::open;
  }
  std::string_view value = text.substr(value_from_, close - value_from_);
  if (!value.empty() && value.front() == '\n') value.remove_prefix(1);
  if (!value.empty() && value.back() == '\n') value.remove_suffix(1);
  parameters_.emplace_back(parameter_, value);
  at_ = after;
  stage_ = Stage::between;
  more = true;
  return State::open;
}

CallScanner::State CallScanner::scan_json(std::string_view text, bool& more) {
  while (at_ < text.size()) {
    const char c = text[at_++];
    if (in_string_) {
      if (escaped_)
        escaped_ = false;
      else if (c == '\\')
        escaped_ = true;
      else if (c == '"')
        in_string_ = false;
      continue;
    }
    if (c == '"') in_string_ = true;
    if (c == '{' || c == '[') ++depth_;
    if ((c == '}' || c == ']') && --depth_ == 0) {
      json_ = text.substr(value_from_, at_ - value_from_);
      stage_ = Stage::end;
      more = true;
      break;
    }
  }
  return State::open;
}

}  // namespace lockstep::engine
