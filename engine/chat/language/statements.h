// The statements of a template.
#pragma once

#include "engine/chat/language/nodes.h"

namespace lockstep::engine::language {

struct Data : Statement {
  TextPtr text;
  Flow run(Render&, Scope&) const override;
};

struct Output : Statement {
  ExpressionPtr expression;
  void declare(Symbols& s) override { expression->declare(s); }
  void bind(Symbols& s) override { expression->bind(s); }
  void walk(const NameWalker& w) override { expression->walk(w); }
  Flow run(Render&, Scope&) const override;
};

struct Jump : Statement {  // break, continue
  Flow flow = Flow::break_loop;
  Flow run(Render&, Scope&) const override { return flow; }
};

struct If : Statement {
  ExpressionPtr condition;
  Body body, otherwise;
  std::vector<std::unique_ptr<If>> others;  // elif; they have no branches of their own
  void declare(Symbols&) override;
  void bind(Symbols&) override;
  void walk(const NameWalker&) override;
  Flow run(Render&, Scope&) const override;
};

struct For : Statement {
  Target target;
  ExpressionPtr iterated, test;
  bool recursive = false;
  Body body, otherwise;
  Frame body_frame, test_frame, else_frame;
  Target test_target;  // the target as the test's frame sees it
  int loop_slot = -1;  // of the variable `loop`, if the body reads it
  void declare(Symbols& s) override { iterated->declare(s); }
  void bind(Symbols&) override;
  void walk(const NameWalker&) override;
  Flow run(Render&, Scope&) const override;
  void iterate(Render&, Scope&, const Value& over, int depth) const;

 private:
  std::vector<Value> select(Render&, Scope&, std::vector<Value> items) const;
};

struct Set : Statement {  // {% set a = b %}
  Target target;
  ExpressionPtr expression;
  void declare(Symbols&) override;
  void bind(Symbols&) override;
  void walk(const NameWalker&) override;
  Flow run(Render&, Scope&) const override;
};

struct SetBlock : Statement {  // {% set a %}...{% endset %}
  Target target;
  std::unique_ptr<Filter> filter;
  Body body;
  Frame frame;
  void declare(Symbols&) override;
  void bind(Symbols&) override;
  void walk(const NameWalker&) override;
  Flow run(Render&, Scope&) const override;
};

struct FilterBlock : Statement {
  std::unique_ptr<Filter> filter;
  Body body;
  Frame frame;
  void declare(Symbols&) override;
  void bind(Symbols&) override;
  void walk(const NameWalker&) override;
  Flow run(Render&, Scope&) const override;
};

struct With : Statement {
  std::vector<std::pair<Target, ExpressionPtr>> values;
  Body body;
  Frame frame;
  void declare(Symbols&) override;
  void bind(Symbols&) override;
  void walk(const NameWalker&) override;
  Flow run(Render&, Scope&) const override;
};

// The parameters and body of a macro or of a call block.
struct MacroBody {
  std::string name;  // empty: a call block's
  int line = 0;
  std::vector<std::string> parameters;
  std::vector<int> parameter_slots;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  Body body;
  Frame frame;
  int caller_slot = -1, kwargs_slot = -1, varargs_slot = -1;  // if the body reads them
  bool explicit_caller = false;                               // a parameter is named caller
  void bind(Symbols&);
  void walk(const NameWalker&);
};

struct Macro : Statement {
  MacroBody macro;
  Reference reference;
  void declare(Symbols& s) override { s.store(macro.name); }
  void bind(Symbols&) override;
  void walk(const NameWalker&) override;
  Flow run(Render&, Scope&) const override;
};

struct CallBlock : Statement {
  MacroBody block;
  std::unique_ptr<Call> call;  // null: {% generation %}, which prints its body
  void declare(Symbols&) override;
  void bind(Symbols&) override;
  void walk(const NameWalker&) override;
  Flow run(Render&, Scope&) const override;
};

Flow run_body(const Body& body, Render&, Scope&);

}  // namespace lockstep::engine::language
