// Methods of str that give its parts.
#include <algorithm>
#include <limits>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {
namespace {

using Pieces = std::vector<Value>;

Value list_of(Pieces pieces) { return Value::sequence(Kind::list, std::move(pieces)); }

void keep(Render& render, Pieces& pieces, const Text& text, size_t from, size_t to) {
  render.meter.charge(to - from + Meter::value_bytes + text.runs.size());
  pieces.push_back(Value::string(text.slice(from, to)));
}

// str.split() at runs of whitespace.
Pieces split_space(Render& render, const Text& text, uint64_t left) {
  Pieces pieces;
  const std::string_view bytes = text.text;
  size_t at = strip_range(bytes, Side::left).first;
  while (at < bytes.size()) {
    size_t end = at;
    while (end < bytes.size()) {
      size_t next = end;
      if (is_space(decode(bytes, next))) break;
      end = next;
    }
    if (left-- == 0) {
      keep(render, pieces, text, at, bytes.size());
      break;
    }
    keep(render, pieces, text, at, end);
    at = end + strip_range(bytes.substr(end), Side::left).first;
  }
  return pieces;
}

Pieces rsplit_space(Render& render, const Text& text, uint64_t left) {
  Pieces pieces;
  const std::string_view bytes = text.text;
  size_t end = strip_range(bytes, Side::right).second;
  while (end > 0) {
    size_t from = end;
    while (from > 0) {
      const size_t before = previous_character(bytes, from);
      size_t at = before;
      if (is_space(decode(bytes, at))) break;
      from = before;
    }
    if (left-- == 0) {
      keep(render, pieces, text, 0, end);
      break;
    }
    keep(render, pieces, text, from, end);
    end = strip_range(bytes.substr(0, from), Side::right).second;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

Value split(Render& render, const Value& self, Arguments& arguments, bool from_right) {
  const Parameters given(from_right ? "rsplit" : "split", arguments, {"sep", "maxsplit"});
  const Text& text = self.text();
  const int64_t most = given.integer(1, -1);
  uint64_t left = most < 0 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(most);
  render.meter.charge(text.text.size());
  if (!given.unless_none(0))
    return list_of(from_right ? rsplit_space(render, text, left) : split_space(render, text, left));
  const std::string& separator = given.text(0).text;
  if (separator.empty()) throw Fault("empty separator");
  Pieces pieces;
  if (!from_right) {
    size_t at = 0;
    for (size_t found = find_text(text.text, separator); found != std::string::npos && left > 0; --left) {
      keep(render, pieces, text, at, found);
      at = found + separator.size();
      found = find_text(text.text, separator, at);
    }
    keep(render, pieces, text, at, text.text.size());
    return list_of(std::move(pieces));
  }
  size_t end = text.text.size();
  while (left-- > 0 && end >= separator.size()) {
    const size_t found = find_last_text(std::string_view(text.text).substr(0, end), separator);
    if (found == std::string::npos) break;
    keep(render, pieces, text, found + separator.size(), end);
    end = found;
  }
  keep(render, pieces, text, 0, end);
  std::reverse(pieces.begin(), pieces.end());
  return list_of(std::move(pieces));
}

Value split_lines(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("splitlines", arguments, {"keepends"});
  Pieces pieces;
  for (Text& line : lines_of(render, self.text(), given.flag(0, false)))
    pieces.push_back(Value::string(std::move(line)));
  return list_of(std::move(pieces));
}

template <bool from_right>
Value partition(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("partition", arguments, {"sep"});
  const Text &text = self.text(), &separator = given.text(0);
  if (separator.text.empty()) throw Fault("empty separator");
  render.meter.charge(text.text.size());
  const size_t found =
      from_right ? find_last_text(text.text, separator.text) : find_text(text.text, separator.text);
  const Value nothing = Value::literal("");
  if (found == std::string::npos)
    return Value::sequence(Kind::tuple,
                           from_right ? Pieces{nothing, nothing, self} : Pieces{self, nothing, nothing});
  Pieces pieces;
  keep(render, pieces, text, 0, found);
  pieces.push_back(*given[0]);
  keep(render, pieces, text, found + separator.text.size(), text.text.size());
  return Value::sequence(Kind::tuple, std::move(pieces));
}

constexpr Method methods[] = {
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"rsplit", [](Render& r, const Value& v, Arguments& a) { return split(r, v, a, true); }},
    {"split", [](Render& r, const Value& v, Arguments& a) { return split(r, v, a, false); }},
    {"splitlines", split_lines},
};

}  // namespace

const Method* find_split_method(std::string_view name) { return find_listed(methods, name); }

}  // namespace lockstep::engine::language
