// Strings, numbers, objects and arrays of a schema.
#include <algorithm>
#include <cmath>

#include "engine/sampling/form/number_shape.h"
#include "engine/sampling/form/regex.h"
#include "engine/sampling/form/schema.h"

namespace lockstep::engine {
namespace {

using language::Dict;
using language::Kind;
using language::Value;

// Text of a key that is no listed one: without escapes, so that it is compared as it is written.
CharSet plain_key() {
  CharSet set = CharSet::all().inverse();
  set.add(0, 0x1f);
  set.add('"', '"');
  set.add('\\', '\\');
  set.add(0x7f, 0x7f);
  return set.inverse();
}

const std::string& string_of(const Value& value, const char* keyword) {
  if (!value.is(Kind::string)) throw FormError("'" + std::string(keyword) + "' must be a string");
  return value.text().text;
}

std::string quoted(const std::string& text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      (out += "\\u00") += {hex[c >> 4], hex[c & 15]};
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

// A count keyword, or `missing`; what is beyond `most` is noted and counts as missing.
int SchemaCompiler::limit(const Dict& schema, const char* keyword, int most, int missing) {
  const Value* value = schema.find(std::string_view(keyword));
  if (!value) return missing;
  if (!value->is_number() || value->is(Kind::boolean) || !(value->as_double() >= 0) ||
      std::floor(value->as_double()) != value->as_double())
    throw FormError("'" + std::string(keyword) + "' must be a count");
  if (value->as_double() > most) {
    note(keyword);
    return missing;
  }
  return static_cast<int>(value->as_double());
}

// The characters of a string; nothing if any will do.
std::optional<CharAutomaton> SchemaCompiler::text_of(const Dict& schema) {
  std::optional<CharAutomaton> text;
  const Value* pattern = schema.find("pattern");
  const Value* format = schema.find("format");
  if (pattern) {
    text = compile_pattern(string_of(*pattern, "pattern"));
    if (!text) note("pattern");
  }
  if (format) {
    const std::string_view known = pattern_of_format(string_of(*format, "format"));
    if (known.empty() || text)
      note("format");
    else
      text = compile_pattern(known);
  }
  const int least = limit(schema, "minLength", max_length, 0),
            most = limit(schema, "maxLength", max_length, -1);
  if (least <= 0 && most < 0) return text;
  return with_length(text ? *text : any_chars(), least, most);
}

void SchemaCompiler::string(const Dict& schema, bool raw, State from, State to) {
  const std::optional<CharAutomaton> text = text_of(schema);
  if (!text) return builder_.call(from, raw ? raw_text() : any_string(), to);
  if (raw) return add_chars(builder_, *text, Writing::raw, from, to);
  const State close = builder_.state();
  add_chars(builder_, *text, Writing::json, builder_.literal(from, "\""), close);
  builder_.byte(close, '"', '"', to);
}

void SchemaCompiler::number(const Dict& schema, bool integer, State from, State to) {
  NumberShape shape{integer, {}, {}};
  const auto bound = [&](const char* keyword, const char* exclusive_keyword, bool low) {
    std::optional<NumberShape::Bound> out;
    const Value* plain = schema.find(std::string_view(keyword));
    const Value* exclusive = schema.find(std::string_view(exclusive_keyword));
    for (const Value* value : {plain, exclusive})
      if (value && !value->is_number()) throw FormError("'" + std::string(keyword) + "' must be a number");
    const bool flag = exclusive && exclusive->is(Kind::boolean);  // as draft 4 had it
    if (plain) out = {plain->as_double(), flag && exclusive->as_integer() == 1};
    if (exclusive && !flag) {
      const double value = exclusive->as_double();
      if (!out || (low ? value >= out->value : value <= out->value)) out = {value, true};
    }
    return out;
  };
  shape.low = bound("minimum", "exclusiveMinimum", true);
  shape.high = bound("maximum", "exclusiveMaximum", false);
  if (const Value* step = schema.find("multipleOf")) {
    if (step->is_number() && step->as_double() == 1)
      shape.integer = true;
    else
      note("multipleOf");
  }
  if (add_numbers(builder_, shape, from, to)) return;
  note(shape.low ? "minimum" : "maximum");
  add_numbers(builder_, {shape.integer, {}, {}}, from, to);
}

SchemaCompiler::Members SchemaCompiler::members_of(const Dict& schema) {
  Members out;
  std::set<std::string> required;
  std::vector<std::string> unlisted;
  const Value* properties = schema.find("properties");
  const Value* others = schema.find("additionalProperties");
  if (properties && !properties->is(Kind::mapping)) throw FormError("'properties' must be an object");
  if (const Value* names = schema.find("required")) {
    if (!names->is(Kind::list)) throw FormError("'required' must be an array");
    for (const Value& name : names->items()) {
      const std::string& text = string_of(name, "required");
      const bool listed = properties && properties->dict().find(std::string_view(text));
      if (required.insert(text).second && !listed) unlisted.push_back(text);
    }
  }
  if (properties)
    for (const auto& [key, value] : properties->dict().entries())
      out.list.push_back({key.text().text, value, required.contains(key.text().text)});
  for (const std::string& name : unlisted)
    out.list.push_back({name, others ? *others : Value::boolean(true), true});
  const bool closed = others && others->is(Kind::boolean) && others->as_integer() == 0;
  if (others && !closed) out.more = *others;
  if (!others && out.list.empty()) out.more = Value::boolean(true);
  const int least = limit(schema, "minProperties", 1 << 30, 0),
            most = limit(schema, "maxProperties", 1 << 30, -1);
  if (least > static_cast<int>(required.size())) note("minProperties");
  if (most >= 0 && (out.more || most < static_cast<int>(out.list.size()))) note("maxProperties");
  return out;
}

// States: before a member with nothing written yet, and with something.
void SchemaCompiler::object(const Dict& schema, State from, State to) {
  const Members members = members_of(schema);
  State empty = blanks_behind(builder_.literal(from, "{"));
  State some = builder_.state();
  for (const Members::Member& member : members.list) {
    const State next_empty = builder_.state(), next_some = builder_.state(), key = builder_.state();
    builder_.skip(empty, key);
    builder_.skip(blanks_behind(builder_.literal(some, ",")), key);
    const State value = colon_behind(builder_.literal(key, quoted(member.name)));
    builder_.call(value, rule_for(member.schema, false), next_some);
    if (!member.required) {
      builder_.skip(empty, next_empty);
      builder_.skip(some, next_some);
    }
    empty = next_empty;
    some = next_some;
  }
  const State close = builder_.state();
  if (members.more) other_members(members.list, *members.more, empty, some, close);
  builder_.skip(empty, close);
  builder_.call(some, blanks(), close);
  builder_.byte(close, '}', '}', to);
}

void SchemaCompiler::other_members(const std::vector<Members::Member>& listed, const Value& schema,
                                   State empty, State some, State close) {
  std::vector<std::string> names;
  for (const Members::Member& member : listed) names.push_back(member.name);
  const State key = builder_.state(), end = builder_.state(), after = builder_.state();
  builder_.skip(empty, key);
  builder_.skip(blanks_behind(builder_.literal(some, ",")), key);
  add_chars(builder_, all_but(names, plain_key()), Writing::raw, builder_.literal(key, "\""), end);
  builder_.call(colon_behind(builder_.literal(end, "\"")), rule_for(schema, false), after);
  builder_.skip(blanks_behind(builder_.literal(after, ",")), key);
  builder_.call(after, blanks(), close);
}

void SchemaCompiler::array(const Dict& schema, State from, State to) {
  const Value* items = schema.find("items");
  const Value* first = schema.find("prefixItems");
  std::vector<Value> prefix;
  if (first) {
    if (!first->is(Kind::list)) throw FormError("'prefixItems' must be an array");
    prefix = first->items();
  } else if (items && items->is(Kind::list)) {  // as drafts before 2020-12 had it
    prefix = items->items();
    items = schema.find("additionalItems");
  }
  const Value rest = items ? *items : Value::boolean(true);
  const bool none = rest.is(Kind::boolean) && rest.as_integer() == 0;
  const auto size = static_cast<int>(prefix.size());
  int least = limit(schema, "minItems", max_items, 0), most = limit(schema, "maxItems", max_items, -1);
  if (none) most = most < 0 ? size : std::min(most, size);
  if (const Value* unique = schema.find("uniqueItems"); unique && most != 0 && most != 1)
    if (!unique->is(Kind::boolean) || unique->as_integer() == 1) note("uniqueItems");

  State here = blanks_behind(builder_.literal(from, "["));
  const State close = builder_.state();
  builder_.byte(close, ']', ']', to);
  const int counted = std::max({least, most, size});
  for (int i = 0; i <= counted; ++i) {
    if (i >= least) i == 0 ? builder_.skip(here, close) : builder_.call(here, blanks(), close);
    if (i == most) return;
    const bool loop = i == counted;  // no limit: the rest is one loop
    const State item = i == 0 ? here : blanks_behind(builder_.literal(here, ","));
    const State next = loop ? (i == 0 ? builder_.state() : here) : builder_.state();
    builder_.call(item, rule_for(i < size ? prefix[static_cast<size_t>(i)] : rest, false), next);
    if (loop && i == 0) {
      builder_.call(next, blanks(), close);
      builder_.call(blanks_behind(builder_.literal(next, ",")), rule_for(rest, false), next);
    }
    here = next;
  }
}

int32_t SchemaCompiler::any() {
  if (any_) return *any_;
  any_ = builder_.rule();
  const State from = builder_.state(), to = builder_.state();
  builder_.define(*any_, from);
  builder_.accept(to);
  const Dict nothing;
  for (const char* type : {"null", "boolean", "number", "string", "object", "array"})
    one_type(nothing, type, false, from, to);
  return *any_;
}

int32_t SchemaCompiler::any_string() {
  if (any_string_) return *any_string_;
  any_string_ = builder_.rule();
  const State from = builder_.state(), close = builder_.state(), to = builder_.state();
  builder_.define(*any_string_, from);
  builder_.accept(to);
  add_chars(builder_, any_chars(), Writing::json, builder_.literal(from, "\""), close);
  builder_.byte(close, '"', '"', to);
  return *any_string_;
}

int32_t SchemaCompiler::raw_text() {
  if (raw_text_) return *raw_text_;
  raw_text_ = builder_.rule();
  const State from = builder_.state(), to = builder_.state();
  builder_.define(*raw_text_, from);
  builder_.accept(to);
  add_chars(builder_, text_without("</parameter>"), Writing::raw, from, to);
  return *raw_text_;
}

// Nothing, one space, or a line end with some blanks.
int32_t SchemaCompiler::blanks() {
  if (blanks_) return *blanks_;
  blanks_ = builder_.rule();
  const State from = builder_.state(), to = builder_.state();
  builder_.define(*blanks_, from);
  builder_.accept(to);
  builder_.skip(from, to);
  builder_.byte(from, ' ', ' ', to);
  State at = builder_.literal(from, "\n");
  for (int i = 0; i < max_blanks; ++i) {
    builder_.skip(at, to);
    const State next = builder_.state();
    builder_.byte(at, ' ', ' ', next);
    builder_.byte(at, '\t', '\t', next);
    at = next;
  }
  builder_.skip(at, to);
  return *blanks_;
}

Grammar::State SchemaCompiler::blanks_behind(State from) {
  const State to = builder_.state();
  builder_.call(from, blanks(), to);
  return to;
}

Grammar::State SchemaCompiler::colon_behind(State from) {
  const State colon = builder_.literal(from, ":"), value = builder_.literal(colon, " ");
  builder_.skip(colon, value);
  return value;
}

}  // namespace lockstep::engine
