#include "engine/chat/language/json.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace lockstep::engine::language {
namespace {

namespace ondemand = simdjson::ondemand;

bool digit(char c) { return c >= '0' && c <= '9'; }

// A JSON number: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
Value number(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
    token.remove_suffix(1);
  size_t at = 0;
  const auto digits = [&] {
    const size_t from = at;
    while (at < token.size() && digit(token[at])) ++at;
    return at - from;
  };
  if (at < token.size() && token[at] == '-') ++at;
  const bool zero = at < token.size() && token[at] == '0';
  const size_t whole = digits();
  bool fine = whole > 0 && (!zero || whole == 1), floating = false;
  if (at < token.size() && token[at] == '.') {
    ++at;
    floating = true;
    fine = fine && digits() > 0;
  }
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    floating = true;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    fine = fine && digits() > 0;
  }
  if (!fine || at != token.size()) throw Fault("not valid JSON: a number is malformed");
  return floating ? Value::floating(std::strtod(std::string(token).c_str(), nullptr)) : Value::decimal(token);
}

Value convert(ondemand::value value, int depth, Meter& meter) {
  if (depth > max_json_depth) throw Fault("JSON is nested deeper than " + std::to_string(max_json_depth));
  meter.charge(sizeof(Value));
  switch (value.type()) {
    case ondemand::json_type::array: {
      std::vector<Value> items;
      for (ondemand::value item : value.get_array()) items.push_back(convert(item, depth + 1, meter));
      return Value::sequence(Kind::list, std::move(items));
    }
    case ondemand::json_type::object: {
      Dict dict;
      for (auto field : value.get_object()) {
        const std::string_view key = field.unescaped_key();
        Value name = Value::string(Text(key, true));
        dict.set(std::move(name), convert(field.value(), depth + 1, meter), meter);
      }
      return Value::mapping(std::move(dict));
    }
    case ondemand::json_type::string: {
      const std::string_view text = value.get_string();
      meter.make(text.size());
      return Value::string(Text(text, true));
    }
    case ondemand::json_type::boolean: return Value::boolean(value.get_bool());
    case ondemand::json_type::null:
      if (!value.is_null()) throw Fault("not valid JSON");
      return Value::none();
    case ondemand::json_type::number: break;
  }
  return number(value.raw_json_token());
}

void write_string(const Text& text, const JsonStyle& style, Text& out) {
  out.append("\"", false);
  size_t begin = 0;
  for (const MarkedText::Run& run : text.runs) {
    const std::string_view part = std::string_view(text.text).substr(begin, run.bytes);
    begin += run.bytes;
    std::string escaped;
    escaped.reserve(part.size());
    for (size_t at = 0; at < part.size();) {
      const size_t from = at;
      const char32_t c = decode(part, at);
      char code[16];
      if (c == '"')
        escaped += "\\\"";
      else if (c == '\\')
        escaped += "\\\\";
      else if (c == '\n')
        escaped += "\\n";
      else if (c == '\r')
        escaped += "\\r";
      else if (c == '\t')
        escaped += "\\t";
      else if (c == '\f')
        escaped += "\\f";
      else if (c == '\b')
        escaped += "\\b";
      else if (c >= 0x10000 && style.ascii) {
        std::snprintf(code, sizeof code, "\\u%04x\\u%04x",
                      0xD800 + static_cast<unsigned>((c - 0x10000) >> 10),
                      0xDC00 + static_cast<unsigned>((c - 0x10000) & 0x3FF));
        escaped += code;
      } else if (c < 0x20 || (style.ascii && c > 0x7E)) {
        std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
        escaped += code;
      } else {
        escaped += part.substr(from, at - from);
      }
    }
    out.append(escaped, run.data);
  }
  out.append("\"", false);
}

std::string scalar(const Value& value) {
  switch (value.kind()) {
    case Kind::none: return "null";
    case Kind::boolean: return value.as_integer() ? "true" : "false";
    case Kind::integer: return std::to_string(value.as_integer());
    case Kind::big_integer: return value.text().text;
    case Kind::floating: {
      const double number = value.as_double();
      if (std::isnan(number)) return "NaN";
      if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
      return float_text(number);
    }
    default: throw Fault("Object of type " + type_name(value) + " is not JSON serializable");
  }
}

class Writer {
 public:
  Writer(const JsonStyle& style, Meter& meter) : style_(style), meter_(meter) {}
  Text out;

  void write(const Value& value, int depth) {
    meter_.charge(16);
    check_text_bytes(out.text.size());
    if (value.is(Kind::string)) {
      meter_.make(value.text().text.size());
      return write_string(value.text(), style_, out);
    }
    if (value.is(Kind::mapping)) return write_mapping(value.dict(), depth);
    if (!value.is(Kind::list) && !value.is_tuple()) return out.append(scalar(value), false);
    const std::vector<Value>& items = value.items();
    if (items.empty()) return out.append("[]", false);
    out.append("[", false);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out.append(style_.item_separator, false);
      new_line(depth + 1);
      write(items[i], depth + 1);
    }
    new_line(depth);
    out.append("]", false);
  }

 private:
  void new_line(int depth) {
    if (!style_.indent) return;
    out.append("\n", false);
    meter_.make(style_.indent->size() * static_cast<size_t>(depth));
    for (int i = 0; i < depth; ++i) out.append(*style_.indent, false);
  }

  void write_mapping(const Dict& dict, int depth) {
    if (dict.size() == 0) return out.append("{}", false);
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys)
      std::stable_sort(entries.begin(), entries.end(), [&](const Dict::Entry* a, const Dict::Entry* b) {
        return compare(a->first, b->first, meter_, "<") == -1;
      });
    out.append("{", false);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out.append(style_.item_separator, false);
      new_line(depth + 1);
      const Value& key = entries[i]->first;
      if (key.is(Kind::string)) {
        meter_.make(key.text().text.size());
        write_string(key.text(), style_, out);
      } else if (key.is(Kind::none) || key.is_number()) {
        out.append("\"" + scalar(key) + "\"", false);
      } else {
        throw Fault("keys must be str, int, float, bool or None, not " + type_name(key));
      }
      out.append(style_.key_separator, false);
      write(entries[i]->second, depth + 1);
    }
    new_line(depth);
    out.append("}", false);
  }

  const JsonStyle& style_;
  Meter& meter_;
};

}  // namespace

Value parse_json(std::string_view json, Meter& meter) {
  meter.make(json.size());
  try {
    // In brackets, since ondemand reads only arrays and objects as values at the root.
    const simdjson::padded_string padded("[" + std::string(json) + "]");
    ondemand::parser parser;
    ondemand::document document = parser.iterate(padded);
    const Value list = convert(document.get_value(), 0, meter);
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS || !list.is(Kind::list) ||
        list.items().size() != 1)
      throw Fault("not valid JSON: it must be one value");
    return list.items()[0];
  } catch (const simdjson::simdjson_error& error) {
    throw Fault("not valid JSON: " + std::string(error.what()));
  }
}

Text dump_json(const Value& value, const JsonStyle& style, Meter& meter) {
  Writer writer(style, meter);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace lockstep::engine::language
