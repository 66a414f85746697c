#include <algorithm>

#include "engine/chat/call_scanner.h"
#include "engine/chat/chat_format.h"
#include "engine/chat/language/json.h"
#include "engine/chat/tool_schema.h"

namespace lockstep::engine {
namespace {

using language::Dict;
using language::Fault;
using language::Kind;
using language::Meter;
using language::Text;
using language::Value;

constexpr std::string_view think_open = "<think>", think_close = "</think>", call_open = "<tool_call>";

// Bytes at the end of `text` that may become `marker` with more text.
size_t partial(std::string_view text, std::string_view marker) {
  for (size_t bytes = std::min(text.size(), marker.size() - 1); bytes > 0; --bytes)
    if (text.substr(text.size() - bytes) == marker.substr(0, bytes)) return bytes;
  return 0;
}

size_t trailing_newlines(std::string_view text) {
  const size_t last = text.find_last_not_of('\n');
  return text.size() - (last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

struct ReplyParser::State {
  enum class Mode { start, reasoning, content, call } mode;
  ToolSchemas schemas;
  std::string held;            // not given out yet; in a call: behind <tool_call>
  std::string blank;           // in a call: the line ends before <tool_call>
  bool skip_newlines = false;  // line ends at the next text's start are not part of it
  int calls = 0;
  std::unique_ptr<CallScanner> scanner;
  std::vector<ReplyPiece> pieces;

  State(bool in_reasoning, const std::vector<std::string>& tools)
      : mode(in_reasoning ? Mode::reasoning : Mode::start), schemas(tools), skip_newlines(in_reasoning) {}

  void give(ReplyPiece::Kind kind, std::string_view text) {
    if (text.empty()) return;
    if (!pieces.empty() && pieces.back().kind == kind)
      pieces.back().text += text;
    else
      pieces.push_back({kind, std::string(text), 0});
  }

  // Each handles what is held; false if it needs more text.
  bool start(bool last);
  bool reasoning(bool last);
  bool content(bool last);
  bool call(bool last);
  bool text_until(std::string_view marker, ReplyPiece::Kind kind, bool last);
  bool emit_call();

  std::vector<ReplyPiece> run(bool last) {
    bool more = true;
    while (more && (!held.empty() || (last && mode == Mode::call))) {
      switch (mode) {
        case Mode::start: more = start(last); break;
        case Mode::reasoning: more = reasoning(last); break;
        case Mode::content: more = content(last); break;
        case Mode::call: more = call(last); break;
      }
    }
    return std::exchange(pieces, {});
  }
};

// A reply may open a thought itself.
bool ReplyParser::State::start(bool last) {
  const size_t first = std::min(held.find_first_not_of('\n'), held.size());
  const std::string_view rest = std::string_view(held).substr(first, think_open.size());
  if (rest.size() < think_open.size() && !last && think_open.substr(0, rest.size()) == rest) return false;
  if (rest != think_open) {
    mode = Mode::content;
    return true;
  }
  held.erase(0, first + think_open.size());
  mode = Mode::reasoning;
  skip_newlines = true;
  return true;
}

// Gives text out up to the marker; line ends before it are dropped there. True once the marker is found: it
// and the text before are gone from `held`, and `blank` has the line ends.
bool ReplyParser::State::text_until(std::string_view marker, ReplyPiece::Kind kind, bool last) {
  if (skip_newlines) {
    held.erase(0, std::min(held.find_first_not_of('\n'), held.size()));
    if (held.empty()) return false;
    skip_newlines = false;
  }
  const size_t found = held.find(marker);
  const std::string_view all = held;
  if (found != std::string::npos) {
    const size_t newlines = trailing_newlines(all.substr(0, found));
    give(kind, all.substr(0, found - newlines));
    blank = all.substr(found - newlines, newlines);
    held.erase(0, found + marker.size());
    return true;
  }
  size_t keep = last ? 0 : partial(all, marker);
  if (!last) keep += trailing_newlines(all.substr(0, all.size() - keep));
  give(kind, all.substr(0, all.size() - keep));
  held.erase(0, held.size() - keep);
  return false;
}

bool ReplyParser::State::reasoning(bool last) {
  if (!text_until(think_close, ReplyPiece::Kind::reasoning, last)) return false;
  mode = Mode::content;
  skip_newlines = true;
  return true;
}

bool ReplyParser::State::content(bool last) {
  if (schemas.empty()) {
    if (skip_newlines) held.erase(0, std::min(held.find_first_not_of('\n'), held.size()));
    skip_newlines = skip_newlines && held.empty();
    give(ReplyPiece::Kind::content, held);
    held.clear();
    return false;
  }
  if (!text_until(call_open, ReplyPiece::Kind::content, last)) return false;
  mode = Mode::call;
  scanner = std::make_unique<CallScanner>();
  return true;
}

bool ReplyParser::State::call(bool last) {
  CallScanner::State state = scanner->scan(held);
  size_t used = scanner->position();
  if (state == CallScanner::State::open) {
    if (!last) return false;
    state = scanner->finish();
    used = held.size();
  }
  const bool complete = state == CallScanner::State::complete && emit_call();
  if (!complete) {  // it is text after all
    give(ReplyPiece::Kind::content, blank);
    give(ReplyPiece::Kind::content, call_open);
    give(ReplyPiece::Kind::content, std::string_view(held).substr(0, used));
  }
  held.erase(0, used);
  mode = Mode::content;
  skip_newlines = complete;
  scanner.reset();
  return true;
}

bool ReplyParser::State::emit_call() {
  Meter meter;
  std::string name = scanner->function(), arguments;
  try {
    Dict dict;
    if (scanner->json()) {
      const Value object = language::parse_json(scanner->json_text(), meter);
      const Value* function = object.dict().find("name");
      const Value* given = object.dict().find("arguments");
      if (!function || !function->is(Kind::string) || function->text().text.empty()) return false;
      name = function->text().text;
      Value parsed = given ? *given : Value::mapping({});
      if (parsed.is(Kind::string)) parsed = language::parse_json(parsed.text().text, meter);
      if (!parsed.is(Kind::mapping)) return false;
      dict = parsed.dict();
    } else {
      for (const auto& [parameter, text] : scanner->parameters())
        dict.set(Value::string(Text(parameter, true)),
                 typed_value(text, schemas.types(name, parameter), meter), meter);
    }
    arguments = language::dump_json(Value::mapping(std::move(dict)), {}, meter).text;
  } catch (const Fault&) {
    return false;
  }
  pieces.push_back({ReplyPiece::Kind::call_begin, name, calls});
  pieces.push_back({ReplyPiece::Kind::call_arguments, arguments, calls});
  ++calls;
  return true;
}

ReplyParser::ReplyParser(bool in_reasoning, std::vector<std::string> tools)
    : state_(std::make_unique<State>(in_reasoning, tools)) {}
ReplyParser::~ReplyParser() = default;

std::vector<ReplyPiece> ReplyParser::push(std::string_view text) {
  state_->held += text;
  return state_->run(false);
}

std::vector<ReplyPiece> ReplyParser::finish() { return state_->run(true); }

}  // namespace lockstep::engine
