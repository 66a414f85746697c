#include "engine/sampling/form/schema.h"

#include <algorithm>
#include <array>

#include "engine/chat/language/json.h"
#include "engine/chat/tool_schema.h"

namespace lockstep::engine {
namespace {

using language::Dict;
using language::Kind;
using language::Value;

constexpr std::array object_words{
    "properties",       "required",      "additionalProperties", "patternProperties",
    "propertyNames",    "minProperties", "maxProperties",        "dependentRequired",
    "dependentSchemas", "dependencies",  "unevaluatedProperties"};
constexpr std::array array_words{
    "items",    "prefixItems", "minItems",    "maxItems",         "uniqueItems",
    "contains", "minContains", "maxContains", "unevaluatedItems", "additionalItems"};
constexpr std::array string_words{"minLength", "maxLength", "pattern", "format"};
constexpr std::array number_words{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"};
constexpr std::array annotations{
    "title",           "description",   "default",   "examples", "example",
    "$schema",         "$id",           "$comment",  "$defs",    "definitions",
    "deprecated",      "readOnly",      "writeOnly", "$anchor",  "contentMediaType",
    "contentEncoding", "discriminator", "strict",    "name"};
constexpr std::array never_held{"not",
                                "if",
                                "then",
                                "else",
                                "patternProperties",
                                "propertyNames",
                                "dependentRequired",
                                "dependentSchemas",
                                "dependencies",
                                "contains",
                                "minContains",
                                "maxContains",
                                "unevaluatedProperties",
                                "unevaluatedItems",
                                "$dynamicRef",
                                "$recursiveRef"};
constexpr std::array all_types{"null", "boolean", "integer", "number", "string", "array", "object"};

template <typename Words>
bool one_of(const Words& words, std::string_view word) {
  return std::ranges::find(words, word, [](const char* w) { return std::string_view(w); }) != words.end();
}
template <typename Words>
bool has_any(const Dict& schema, const Words& words) {
  return std::ranges::any_of(
      words, [&](const char* word) { return schema.find(std::string_view(word)) != nullptr; });
}

bool is_empty(const Value& value) {
  return (value.is(Kind::mapping) && value.dict().size() == 0) ||
         (value.is(Kind::list) && value.items().empty());
}

std::set<std::string> named_types(const Value& type) {
  std::set<std::string> names;
  const auto add = [&](const Value& one) {
    if (!one.is(Kind::string) || !one_of(all_types, one.text().text))
      throw FormError("'type' must name types of JSON" +
                      (one.is(Kind::string) ? ", not '" + one.text().text + "'" : std::string()));
    names.insert(one.text().text);
  };
  if (type.is(Kind::list))
    for (const Value& one : type.items()) add(one);
  else
    add(type);
  if (names.contains("number")) names.erase("integer");
  return names;
}

bool in(const std::set<std::string>& types, const std::string& type) {
  return types.contains(type) || (type == "integer" && types.contains("number"));
}

const std::vector<Value>& list_of(const Value& value, const char* keyword) {
  if (!value.is(Kind::list)) throw FormError("'" + std::string(keyword) + "' must be an array");
  return value.items();
}

}  // namespace

int32_t SchemaCompiler::json(const Value& schema, const Value& root) {
  root_ = &root;
  return rule_for(schema, false);
}

int32_t SchemaCompiler::raw(const Value& schema, const Value& root) {
  root_ = &root;
  return rule_for(schema, true);
}

SchemaCompiler::Members SchemaCompiler::members(const Value& schema, const Value& root) {
  root_ = &root;
  const Value& found = normal(schema);
  if (!found.is(Kind::mapping)) return {};
  check_keywords(found.dict());
  for (const char* keyword : {"anyOf", "oneOf"})
    if (found.dict().find(std::string_view(keyword))) note(keyword);
  return members_of(found.dict());
}

int32_t SchemaCompiler::rule_for(const Value& schema, bool raw) {
  const struct Level {
    int& level;
    explicit Level(int& of) : level(of) {
      if (++level > max_levels)
        throw FormError("it goes deeper than " + std::to_string(max_levels) + " schemas");
    }
    ~Level() { --level; }
  } level(level_);
  const Value& found = normal(schema);
  if (found.is(Kind::boolean) && found.as_integer() == 0) {
    if (!never_) builder_.define(*(never_ = builder_.rule()), builder_.state());
    return *never_;
  }
  if (found.is(Kind::boolean) || is_empty(found)) return raw ? raw_text() : any();
  if (!found.is(Kind::mapping)) throw FormError("a schema must be an object or a boolean");
  const auto [at, fresh] = known_.try_emplace({found.identity(), raw}, 0);
  if (!fresh) return at->second;
  const int32_t rule = at->second = builder_.rule();
  const State from = builder_.state(), to = builder_.state();
  builder_.define(rule, from);
  builder_.accept(to);
  check_keywords(found.dict());
  alternatives(found, raw, from, to);
  return rule;
}

// The schema that a reference means, with allOf and the words beside a reference merged into one.
const Value& SchemaCompiler::normal(const Value& schema, int depth) {
  if (depth > max_references)
    throw FormError("'$ref' or 'allOf' goes deeper than " + std::to_string(max_references));
  if (!schema.is(Kind::mapping)) return schema;
  const Value* reference = schema.dict().find("$ref");
  const Value* parts = schema.dict().find("allOf");
  if (!reference && !parts) return schema;
  if (const auto known = normal_.find(schema.identity()); known != normal_.end()) return *known->second;
  Dict rest;
  bool asserts = false;
  for (const auto& [key, value] : schema.dict().entries()) {
    if (key.text().text == "$ref" || key.text().text == "allOf") continue;
    rest.set(key, value, meter_);
    asserts |= !one_of(annotations, key.text().text);
  }
  std::vector<const Value*> all;
  if (reference) {
    if (!reference->is(Kind::string)) throw FormError("'$ref' must be a string");
    all.push_back(&normal(target(reference->text().text), depth + 1));
  }
  if (parts)
    for (const Value& part : list_of(*parts, "allOf")) all.push_back(&normal(part, depth + 1));
  const Value* result = nullptr;
  if (all.size() == 1 && !asserts) {
    result = all[0];
  } else {
    for (const Value* part : all) {
      if (part->is(Kind::boolean) && part->as_integer() == 1) continue;
      std::optional<Dict> both = part->is(Kind::mapping) ? merged(rest, part->dict(), depth) : std::nullopt;
      if (both)
        rest = std::move(*both);
      else
        note(parts ? "allOf" : "$ref");
    }
    result = &keep(std::move(rest));
  }
  normal_[schema.identity()] = result;
  return *result;
}

const Value& SchemaCompiler::target(const std::string& reference) const {
  const auto lost = [&]() -> FormError { return FormError("'$ref' leads nowhere: '" + reference + "'"); };
  if (!reference.starts_with("#") || (reference.size() > 1 && reference[1] != '/')) throw lost();
  const Value* at = root_;
  for (size_t from = 2; from <= reference.size() && reference.size() > 1;) {
    const size_t end = std::min(reference.find('/', from), reference.size());
    std::string step = reference.substr(from, end - from);
    for (size_t tilde = step.find('~'); tilde != std::string::npos; tilde = step.find('~', tilde + 1))
      step.replace(tilde, 2, step.compare(tilde, 2, "~1") == 0 ? "/" : "~");
    from = end + 1;
    if (at->is(Kind::mapping)) {
      at = at->dict().find(std::string_view(step));
    } else if (at->is(Kind::list) && !step.empty() && step.size() < 6 &&
               step.find_first_not_of("0123456789") == std::string::npos &&
               std::stoul(step) < at->items().size()) {
      at = &at->items()[std::stoul(step)];
    } else {
      at = nullptr;
    }
    if (!at) throw lost();
  }
  return *at;
}

const Value& SchemaCompiler::keep(Dict dict) { return kept_.emplace_back(Value::mapping(std::move(dict))); }

// What fits both; nothing if that is more than one schema's words can say.
std::optional<Dict> SchemaCompiler::merged(const Dict& a, const Dict& b, int depth) {
  if (depth > max_references) return std::nullopt;
  Dict out = a;
  for (const auto& [key, value] : b.entries()) {
    const std::string& word = key.text().text;
    const Value* mine = a.find(std::string_view(word));
    if (!mine || one_of(annotations, word) || language::equal(*mine, value, meter_)) {
      out.set(key, value, meter_);
    } else if (word == "type") {
      const std::set<std::string> left = named_types(*mine), right = named_types(value);
      std::vector<Value> both;
      for (const char* type : all_types)
        if (in(left, type) && in(right, type)) both.push_back(Value::literal(type));
      out.set(key, Value::sequence(Kind::list, std::move(both)), meter_);
    } else if (word == "required" && mine->is(Kind::list) && value.is(Kind::list)) {
      std::vector<Value> all = mine->items();
      all.insert(all.end(), value.items().begin(), value.items().end());
      out.set(key, Value::sequence(Kind::list, std::move(all)), meter_);
    } else if (word == "properties" && mine->is(Kind::mapping) && value.is(Kind::mapping)) {
      Dict all = mine->dict();
      for (const auto& [name, schema] : value.dict().entries()) {
        const Value* known = all.find(name, meter_);
        if (known && !language::equal(*known, schema, meter_)) {
          const Value &left = normal(*known, depth + 1), &right = normal(schema, depth + 1);
          if (!left.is(Kind::mapping) || !right.is(Kind::mapping)) return std::nullopt;
          std::optional<Dict> both = merged(left.dict(), right.dict(), depth + 1);
          if (!both) return std::nullopt;
          all.set(name, Value::mapping(std::move(*both)), meter_);
        } else {
          all.set(name, schema, meter_);
        }
      }
      out.set(key, Value::mapping(std::move(all)), meter_);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

void SchemaCompiler::check_keywords(const Dict& schema) {
  for (const char* word : never_held) {
    const Value* value = schema.find(std::string_view(word));
    if (value &&
        !(std::string_view(word).starts_with("unevaluated") && value->is(Kind::boolean) &&
          value->as_integer() == 1) &&
        !(is_empty(*value) && std::string_view(word) != "not" && std::string_view(word) != "contains"))
      note(word);
  }
}

void SchemaCompiler::alternatives(const Value& schema, bool raw, State from, State to) {
  const Dict& dict = schema.dict();
  if (const Value* constant = dict.find("const")) return values({*constant}, dict, raw, from, to);
  if (const Value* choices = dict.find("enum")) return values(list_of(*choices, "enum"), dict, raw, from, to);
  for (const char* keyword : {"anyOf", "oneOf"})
    if (dict.find(std::string_view(keyword))) return branches(schema, keyword, raw, from, to);
  const std::set<std::string> which = types(dict);
  if (which.empty()) return builder_.call(from, raw ? raw_text() : any(), to);
  for (const std::string& type : which) one_type(dict, type, raw, from, to);
}

// Each alternative together with the words beside it.
void SchemaCompiler::branches(const Value& schema, const char* keyword, bool raw, State from, State to) {
  Dict beside;
  bool asserts = false;
  for (const auto& [key, value] : schema.dict().entries()) {
    if (key.text().text == keyword || one_of(annotations, key.text().text)) continue;
    beside.set(key, value, meter_);
    asserts = true;
  }
  std::vector<const Value*> all;
  for (const Value& branch : list_of(*schema.dict().find(std::string_view(keyword)), keyword)) {
    const Value& found = normal(branch);
    all.push_back(&found);
    if (!asserts) {
      builder_.call(from, rule_for(found, raw), to);
      continue;
    }
    std::optional<Dict> both;
    if (found.is(Kind::mapping)) both = merged(beside, found.dict(), 0);
    if (both) {
      builder_.call(from, rule_for(keep(std::move(*both)), raw), to);
    } else {
      note(keyword);
      builder_.call(from, rule_for(found, raw), to);
    }
  }
  if (std::string_view(keyword) == "oneOf" && !apart(all)) note(keyword);
}

// Whether no value can fit two of the branches: they have different types, or one member that both require
// has different constants.
bool SchemaCompiler::apart(const std::vector<const Value*>& branches) {
  const auto constants = [&](const Dict& schema,
                             const std::string& member) -> std::optional<std::vector<Value>> {
    const Value* required = schema.find("required");
    const Value* properties = schema.find("properties");
    if (!required || !required->is(Kind::list) || !properties || !properties->is(Kind::mapping))
      return std::nullopt;
    const bool must = std::ranges::any_of(required->items(), [&](const Value& name) {
      return name.is(Kind::string) && name.text().text == member;
    });
    const Value* schema_of = properties->dict().find(std::string_view(member));
    if (!must || !schema_of) return std::nullopt;
    const Value& found = normal(*schema_of);
    if (!found.is(Kind::mapping)) return std::nullopt;
    if (const Value* constant = found.dict().find("const")) return std::vector<Value>{*constant};
    const Value* choices = found.dict().find("enum");
    if (choices && choices->is(Kind::list)) return choices->items();
    return std::nullopt;
  };
  const auto differ = [&](const Dict& a, const Dict& b) {
    const std::set<std::string> left = types(a), right = types(b);
    if (!left.empty() && !right.empty() && std::ranges::none_of(left, [&](const std::string& t) {
          return in(right, t) || (t == "number" && right.contains("integer"));
        }))
      return true;
    const Value* properties = a.find("properties");
    if (left != std::set<std::string>{"object"} || right != left || !properties ||
        !properties->is(Kind::mapping))
      return false;
    return std::ranges::any_of(properties->dict().entries(), [&](const Dict::Entry& entry) {
      const auto mine = constants(a, entry.first.text().text), other = constants(b, entry.first.text().text);
      return mine && other && std::ranges::none_of(*mine, [&](const Value& value) {
               return std::ranges::any_of(*other,
                                          [&](const Value& v) { return language::equal(value, v, meter_); });
             });
    });
  };
  for (size_t i = 0; i < branches.size(); ++i)
    for (size_t j = i + 1; j < branches.size(); ++j)
      if (!branches[i]->is(Kind::mapping) || !branches[j]->is(Kind::mapping) ||
          !differ(branches[i]->dict(), branches[j]->dict()))
        return false;
  return true;
}

// The types a schema allows; empty: any. Words of one type without "type" are taken to ask for it.
std::set<std::string> SchemaCompiler::types(const Dict& schema) {
  if (const Value* type = schema.find("type")) {
    std::set<std::string> names = named_types(*type);
    if (names.empty()) names.insert("nothing");
    return names;
  }
  std::set<std::string> names;
  if (has_any(schema, object_words)) names.insert("object");
  if (has_any(schema, array_words)) names.insert("array");
  if (has_any(schema, string_words)) names.insert("string");
  if (has_any(schema, number_words)) names.insert("number");
  return names;
}

void SchemaCompiler::one_type(const Dict& schema, const std::string& type, bool raw, State from, State to) {
  if (type == "null") builder_.skip(builder_.literal(from, "null"), to);
  if (type == "boolean") {
    builder_.skip(builder_.literal(from, "true"), to);
    builder_.skip(builder_.literal(from, "false"), to);
  }
  if (type == "integer" || type == "number") number(schema, type == "integer", from, to);
  if (type == "string") string(schema, raw, from, to);
  if (type == "object") object(schema, from, to);
  if (type == "array") array(schema, from, to);
}

void SchemaCompiler::values(const std::vector<Value>& list, const Dict& schema, bool raw, State from,
                            State to) {
  const Value* type = schema.find("type");
  const std::set<std::string> allowed = type ? named_types(*type) : std::set<std::string>();
  for (const Value& value : list) {
    if (type && !in(allowed, type_of(value))) continue;
    const std::string text =
        raw && value.is(Kind::string) ? value.text().text : language::dump_json(value, {}, meter_).text;
    builder_.skip(builder_.literal(from, text), to);
  }
}

}  // namespace lockstep::engine
