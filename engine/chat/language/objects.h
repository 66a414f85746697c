// Objects with identity: the loop variable, macros, namespaces, cyclers, joiners and functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/chat/language/builtins.h"
#include "engine/chat/language/statements.h"

namespace lockstep::engine::language {

// A function or a method of an object above, bound to it.
class Function : public Object {
 public:
  using Body = Value (*)(Render&, Object* self, Arguments&);
  explicit Function(Body body, Object* self = nullptr) : body_(body), self_(self) {}
  std::string type() const override { return "function"; }
  bool callable() const override { return true; }
  Value call(Render& render, Arguments& arguments) override { return body_(render, self_, arguments); }

 private:
  Body body_;
  Object* self_;
};

class Loop : public Object {
 public:
  // `statement` and `scope`: of a recursive loop, which may be called; else null.
  Loop(std::vector<Value> items, int depth, const For* statement, Scope* scope);

  bool next() { return ++index_ < static_cast<int64_t>(items_.size()); }
  const Value& item() const { return items_[static_cast<size_t>(index_)]; }

  std::string type() const override { return "LoopContext"; }
  Value attribute(std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Render&, Arguments&) override;  // a recursive loop
  Text print(Meter&) const override;
  bool changed(const std::vector<Value>& values, Meter& meter);
  int64_t index0() const { return index_; }

 private:
  std::vector<Value> items_;
  int64_t index_ = -1;
  int depth_;
  const For* statement_;
  Scope* scope_;
  std::optional<std::vector<Value>> last_changed_;
  Function cycle_, changed_;
};

class MacroObject : public Object {
 public:
  MacroObject(const MacroBody& body, Scope& scope) : body_(body), scope_(scope) {}
  std::string type() const override { return "Macro"; }
  Value attribute(std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Render&, Arguments&) override;

 private:
  const MacroBody& body_;
  Scope& scope_;  // where it was defined
};

class Namespace : public Object {
 public:
  std::string type() const override { return "Namespace"; }
  Value attribute(std::string_view name) override;
  Text print(Meter&) const override;
  Dict members;

 private:
  mutable bool printing_ = false;
};

}  // namespace lockstep::engine::language
