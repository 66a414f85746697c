// Operations on strings that filters and methods share.
#include <algorithm>
#include <limits>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {

Text replace(Render& render, const Text& text, const Text& from, const Text& to, int64_t count) {
  Text result;
  result.safe = text.safe;
  render.meter.charge(text.text.size());
  auto left = count < 0 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(count);
  const std::string& bytes = text.text;
  size_t copied = 0;
  const auto put = [&](size_t at, size_t skip) {
    result.append_slice(text, copied, at);
    check_text_bytes(result.text.size() + to.text.size());
    render.meter.charge(to.text.size() + text.runs.size());
    result.append(to);
    copied = at + skip;
    --left;
  };
  if (from.text.empty()) {  // between all characters
    for (size_t at = 0; left > 0; at = next_character(bytes, at)) {
      put(at, 0);
      if (at >= bytes.size()) break;
    }
  } else {
    for (size_t at = find_text(bytes, from.text); at != std::string::npos && left > 0;
         at = find_text(bytes, from.text, copied))
      put(at, from.text.size());
  }
  result.append_slice(text, copied, bytes.size());
  return result;
}

Text repeat(Render& render, const Text& text, int64_t times) {
  Text result;
  result.safe = text.safe;
  if (times <= 0 || text.text.empty()) return result;
  if (static_cast<uint64_t>(times) > max_text_bytes / text.text.size())
    throw Fault("a text grows past 64 MiB");
  render.meter.make(text.text.size() * static_cast<size_t>(times));
  for (int64_t i = 0; i < times; ++i) result.append(text);
  return result;
}

Text join(Render& render, const Text& separator, const std::vector<Text>& parts) {
  size_t bytes = 0;
  for (const Text& part : parts) {
    bytes += part.text.size() + separator.text.size();
    check_text_bytes(bytes);
  }
  render.meter.charge(bytes);
  Text result;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result.append(separator);
    result.append(parts[i]);
  }
  return result;
}

Text strip(Render& render, const Text& text, Side side, const Parameters& given) {
  const Text* listed = given.unless_none(0) ? &given.text(0) : nullptr;
  render.meter.charge(text.text.size());
  const auto [first, last] =
      listed ? strip_range(text.text, side, listed->text) : strip_range(text.text, side);
  const size_t tested = Meter::per_character + (listed ? listed->text.size() : 0);
  render.meter.charge((first + text.text.size() - last) * tested);
  return text.slice(first, last);
}

std::vector<Text> lines_of(Render& render, const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string_view bytes = text.text;
  const auto add = [&](size_t from, size_t to) {
    render.meter.charge(to - from + Meter::value_bytes + text.runs.size());
    lines.push_back(text.slice(from, to));
  };
  render.meter.charge(bytes.size());
  size_t from = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = at;
    const char32_t c = decode(bytes, at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    add(from, keep_ends ? at : end);
    from = at;
  }
  if (from < bytes.size()) add(from, bytes.size());
  return lines;
}

Value whole(Render& render, const std::string& bytes, const Text& source) {
  render.meter.make(bytes.size());
  Text text(bytes, source.any_data());
  text.safe = source.safe;
  return Value::string(std::move(text));
}

}  // namespace lockstep::engine::language
