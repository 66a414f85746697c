// Values of the template language, with Python's semantics.
//
// Values are immutable apart from generators (which are used up) and objects (namespace, loop, ...), which
// the running render owns. So no cycle of owners exists, and nesting is bounded by max_value_depth.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/chat/language/fault.h"
#include "engine/chat/language/text.h"

namespace lockstep::engine::language {

class Value;
class Dict;
class Object;
struct Method;

enum class Kind : uint8_t {
  missing,    // a variable without a value
  undefined,  // what a missing name or attribute reads as
  none,
  boolean,
  integer,      // fits 64 bits
  big_integer,  // decimal text
  floating,
  string,
  list,
  tuple,
  group,  // a tuple of the filter groupby, with .grouper and .list
  range,
  keys,       // dict.keys()
  values,     // dict.values()
  items,      // dict.items()
  generator,  // used up by reading
  mapping,
  object,
  method,  // of a string, list, mapping, ..., bound to its value
};

struct Sequence {
  std::vector<Value> items;
  int depth = 1;
  mutable size_t next = 0;  // generator: what is used up
};

class Value {
 public:
  Value() = default;
  static Value undefined(std::string message);
  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value decimal(std::string_view digits);  // optional '-', digits: integer or big_integer
  static Value floating(double value);
  static Value string(Text text);
  static Value string(TextPtr text);
  static Value literal(std::string_view text);  // the template's own
  static Value sequence(Kind kind, std::vector<Value> items);
  static Value mapping(Dict dict);
  static Value object(Object* object);
  static Value method(Value self, const Method* method);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_integer() const { return kind_ == Kind::integer || kind_ == Kind::big_integer; }
  bool is_number() const { return kind_ >= Kind::boolean && kind_ <= Kind::floating; }
  bool is_sequence() const { return kind_ >= Kind::list && kind_ <= Kind::generator; }
  bool is_indexed() const { return kind_ >= Kind::list && kind_ <= Kind::range; }
  bool is_tuple() const { return kind_ == Kind::tuple || kind_ == Kind::group; }

  // Each only for its kind.
  int64_t as_integer() const { return integer_; }  // boolean, integer
  double as_double() const;                        // any number; Fault if too large
  const Text& text() const {
    return *static_cast<const Text*>(heap_.get());
  }  // string, big_integer, undefined
  const Sequence& sequence() const { return *static_cast<const Sequence*>(heap_.get()); }
  const std::vector<Value>& items() const { return sequence().items; }
  const Dict& dict() const { return *static_cast<const Dict*>(heap_.get()); }
  Object* object() const { return object_; }
  const Value& method_self() const;
  const Method& method() const;

  int depth() const;
  const void* identity() const;  // equal for the same heap value or object

 private:
  Kind kind_ = Kind::missing;
  union {
    int64_t integer_ = 0;
    double floating_;
    Object* object_;
  };
  std::shared_ptr<const void> heap_;
};

// A mapping that keeps the order of first insertion.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  const Value* find(const Value& key, Meter& meter) const;  // Fault if the key cannot be one
  const Value* find(std::string_view key) const;
  void set(Value key, Value value, Meter& meter);
  void set(std::string_view key, Value value);  // the key is the template's
  int depth() const { return depth_; }

 private:
  size_t locate(const Value& key, size_t hash, Meter& meter) const;
  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, uint32_t> index_;  // used from a size on
  int depth_ = 1;
};

// Something with identity that lives as long as the render.
class Render;
struct Arguments;
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string type() const = 0;                     // as Python names it in messages
  virtual Value attribute(std::string_view) { return {}; }  // missing if there is none
  virtual bool callable() const { return false; }
  virtual Value call(Render&, Arguments&);
  virtual Text print(Meter&) const;
};

bool truth(const Value& value);
bool equal(const Value& a, const Value& b, Meter& meter);
// -1, 0 or 1 as a is less than, equal to or greater than b; 2 if a NaN is neither. Fault if they have no
// order.
int compare(const Value& a, const Value& b, Meter& meter, const char* operation);
bool contains(const Value& container, const Value& item, Meter& meter);
std::string type_name(const Value& value);  // "str", "dict", ...
// Number of items or characters; nothing for what has none.
bool has_length(const Value& value);
size_t length(const Value& value);  // Fault if it has none
// The items that iterating gives; Fault if the value cannot be iterated. Uses a generator up.
std::vector<Value> iterate(const Value& value, Meter& meter);
bool iterable(const Value& value);

// Python's str() and repr().
Text to_text(const Value& value, Meter& meter);
Text representation(const Value& value, Meter& meter);
std::string float_text(double value);

}  // namespace lockstep::engine::language
