#include "engine/chat/language/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace lockstep::engine::language {
namespace {

constexpr size_t indexed_size = 8;  // mappings up to this size are searched in order

struct Bound {
  Value self;
  const Method* method;
  int depth;
};

int checked(int depth) {
  if (depth > max_value_depth) throw Fault("lists and mappings are nested too deep");
  return depth;
}

size_t hash_number(const Value& key) {
  if (key.is(Kind::big_integer)) return std::hash<std::string>()(key.text().text);
  if (!key.is(Kind::floating)) return std::hash<int64_t>()(key.as_integer());
  const double value = key.as_double();
  if (std::trunc(value) == value && std::fabs(value) < 9.2e18)
    return std::hash<int64_t>()(static_cast<int64_t>(value));
  return std::hash<double>()(value);
}

size_t hash(const Value& key, Meter& meter) {
  switch (key.kind()) {
    case Kind::none: return 1;
    case Kind::undefined: return 2;
    case Kind::boolean:
    case Kind::integer:
    case Kind::big_integer:
    case Kind::floating: return hash_number(key);
    case Kind::string: meter.charge(key.text().text.size()); return std::hash<std::string>()(key.text().text);
    case Kind::tuple:
    case Kind::group: {
      size_t sum = 3;
      for (const Value& item : key.items()) sum = sum * 31 + hash(item, meter);
      return sum;
    }
    case Kind::object: return std::hash<const void*>()(key.object());
    default: throw Fault("unhashable type: '" + type_name(key) + "'");
  }
}

}  // namespace

Value Value::undefined(std::string message) {
  Value value;
  value.kind_ = Kind::undefined;
  value.heap_ = std::make_shared<Text>(message, false);
  return value;
}
Value Value::none() {
  Value value;
  value.kind_ = Kind::none;
  return value;
}
Value Value::boolean(bool truth) {
  Value value;
  value.kind_ = Kind::boolean;
  value.integer_ = truth;
  return value;
}
Value Value::integer(int64_t number) {
  Value value;
  value.kind_ = Kind::integer;
  value.integer_ = number;
  return value;
}
Value Value::decimal(std::string_view digits) {
  const bool negative = !digits.empty() && digits[0] == '-';
  std::string_view magnitude = digits.substr(negative ? 1 : 0);
  while (magnitude.size() > 1 && magnitude[0] == '0') magnitude.remove_prefix(1);
  const std::string canonical = (negative && magnitude != "0" ? "-" : "") + std::string(magnitude);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(canonical.data(), canonical.data() + canonical.size(), number);
  if (error == std::errc() && end == canonical.data() + canonical.size()) return integer(number);
  if (canonical.size() > 4300) throw Fault("an integer has more than 4300 digits");
  Value value;
  value.kind_ = Kind::big_integer;
  value.heap_ = std::make_shared<Text>(canonical, false);
  return value;
}
Value Value::floating(double number) {
  Value value;
  value.kind_ = Kind::floating;
  value.floating_ = number;
  return value;
}
Value Value::string(Text text) { return string(std::make_shared<const Text>(std::move(text))); }
Value Value::string(TextPtr text) {
  Value value;
  value.kind_ = Kind::string;
  value.heap_ = std::move(text);
  return value;
}
Value Value::literal(std::string_view text) { return string(Text(text, false)); }
Value Value::sequence(Kind kind, std::vector<Value> items) {
  auto sequence = std::make_shared<Sequence>();
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  sequence->depth = checked(depth + 1);
  sequence->items = std::move(items);
  Value value;
  value.kind_ = kind;
  value.heap_ = std::move(sequence);
  return value;
}
Value Value::mapping(Dict dict) {
  Value value;
  value.kind_ = Kind::mapping;
  checked(dict.depth());
  value.heap_ = std::make_shared<const Dict>(std::move(dict));
  return value;
}
Value Value::object(Object* object) {
  Value value;
  value.kind_ = Kind::object;
  value.object_ = object;
  return value;
}
Value Value::method(Value self, const Method* method) {
  const int depth = checked(self.depth() + 1);
  Value value;
  value.kind_ = Kind::method;
  value.heap_ = std::make_shared<Bound>(Bound{std::move(self), method, depth});
  return value;
}

const Value& Value::method_self() const { return static_cast<const Bound*>(heap_.get())->self; }
const Method& Value::method() const { return *static_cast<const Bound*>(heap_.get())->method; }

double Value::as_double() const {
  if (kind_ == Kind::floating) return floating_;
  if (kind_ != Kind::big_integer) return static_cast<double>(integer_);
  const double number = std::strtod(text().text.c_str(), nullptr);
  if (std::isinf(number)) throw Fault("int too large to convert to float");
  return number;
}

int Value::depth() const {
  if (is_sequence()) return sequence().depth;
  if (kind_ == Kind::mapping) return dict().depth();
  if (kind_ == Kind::method) return static_cast<const Bound*>(heap_.get())->depth;
  return 0;
}

const void* Value::identity() const {
  if (kind_ == Kind::object) return object_;
  return heap_.get();
}

size_t Dict::locate(const Value& key, size_t hashed, Meter& meter) const {
  if (entries_.size() <= indexed_size) {
    for (size_t i = 0; i < entries_.size(); ++i)
      if (equal(entries_[i].first, key, meter)) return i;
    return entries_.size();
  }
  const auto [first, last] = index_.equal_range(hashed);
  for (auto at = first; at != last; ++at)
    if (equal(entries_[at->second].first, key, meter)) return at->second;
  return entries_.size();
}

const Value* Dict::find(const Value& key, Meter& meter) const {
  const size_t at = locate(key, hash(key, meter), meter);
  return at < entries_.size() ? &entries_[at].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  for (const Entry& entry : entries_)
    if (entry.first.is(Kind::string) && entry.first.text().text == key) return &entry.second;
  return nullptr;
}

void Dict::set(Value key, Value value, Meter& meter) {
  const size_t hashed = hash(key, meter);
  depth_ = checked(std::max({depth_, key.depth() + 1, value.depth() + 1}));
  const size_t at = locate(key, hashed, meter);
  if (at < entries_.size()) {
    entries_[at].second = std::move(value);
    return;
  }
  meter.charge(sizeof(Entry));
  entries_.emplace_back(std::move(key), std::move(value));
  if (entries_.size() == indexed_size + 1)
    for (size_t i = 0; i < indexed_size; ++i) index_.emplace(hash(entries_[i].first, meter), i);
  if (entries_.size() > indexed_size) index_.emplace(hashed, entries_.size() - 1);
}

void Dict::set(std::string_view key, Value value) {
  Meter meter;
  set(Value::literal(key), std::move(value), meter);
}

Value Object::call(Render&, Arguments&) { throw Fault("'" + type() + "' object is not callable"); }
Text Object::print(Meter&) const { return Text("<" + type() + ">", false); }

}  // namespace lockstep::engine::language
