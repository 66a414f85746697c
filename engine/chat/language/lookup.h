// How filters reach into the items of a sequence: attribute paths and case folding.
#pragma once

#include <string>
#include <vector>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {

// attribute="a.b.0": items by these keys in turn; without attribute the item itself.
class Getter {
 public:
  explicit Getter(const Value* attribute, const Value* otherwise = nullptr);
  Value operator()(Render& render, Value item) const;

 private:
  std::vector<Value> path_;
  const Value* otherwise_;  // replaces what is undefined; null: nothing does
};

// A string in lower case unless `sensitive`; everything else as it is.
Value fold_case(Render& render, const Value& value, bool sensitive);

}  // namespace lockstep::engine::language
