// Analysis and running of statements.
#include "engine/chat/language/statements.h"

#include <algorithm>

#include "engine/chat/language/lexer.h"
#include "engine/chat/language/objects.h"

namespace lockstep::engine::language {
namespace {

void declare_all(const Body& body, Symbols& symbols) {
  for (const auto& statement : body) statement->declare(symbols);
}
void bind_all(const Body& body, Symbols& symbols) {
  for (const auto& statement : body) statement->bind(symbols);
}
void walk_all(const Body& body, const NameWalker& walker) {
  for (const auto& statement : body) statement->walk(walker);
}

}  // namespace

Flow run_body(const Body& body, Render& render, Scope& scope) {
  Render::Level level(render);
  for (const auto& statement : body) {
    render.meter.charge(Meter::step);
    render.line = statement->line;
    const Flow flow = statement->run(render, scope);
    if (flow != Flow::on) return flow;
  }
  return Flow::on;
}

void Target::declare(Symbols& symbols, bool as_parameter) const {
  if (tuple) {
    for (const Target& part : parts) part.declare(symbols, as_parameter);
  } else if (!attribute.empty()) {
    symbols.load(name);
  } else if (as_parameter) {
    symbols.parameter(name);
  } else {
    symbols.store(name);
  }
}

void Target::bind(Symbols& symbols) {
  for (Target& part : parts) part.bind(symbols);
  if (!tuple) reference = symbols.resolve(name);
}

void Target::walk(const NameWalker& walker) const {
  for (const Target& part : parts) part.walk(walker);
  if (!tuple && attribute.empty()) walker(name, true);
}

void Target::assign(Render& render, Scope& scope, const Value& value) const {
  if (tuple) {
    const std::vector<Value> items = iterate(value, render.meter);
    if (items.size() != parts.size())
      throw Fault("expected " + std::to_string(parts.size()) + " values to unpack, got " +
                  std::to_string(items.size()));
    for (size_t i = 0; i < items.size(); ++i) parts[i].assign(render, scope, items[i]);
    return;
  }
  Value& slot = scope.at(reference);
  if (attribute.empty()) {
    slot = value;
    return;
  }
  auto* space = slot.is(Kind::object) ? dynamic_cast<Namespace*>(slot.object()) : nullptr;
  if (!space) throw Fault("cannot assign attribute on non-namespace object");
  space->members.set(Value::literal(attribute), value, render.meter);
}

Flow Data::run(Render& render, Scope&) const {
  render.write(*text);
  return Flow::on;
}

Flow Output::run(Render& render, Scope& scope) const {
  const Value value = expression->value(render, scope);
  render.line = line;
  render.write(value);
  return Flow::on;
}

void If::declare(Symbols& symbols) {
  condition->declare(symbols);
  std::vector<Symbols> branches(3, symbols.branch());  // Jinja2 counts all elifs as one
  declare_all(body, branches[0]);
  for (const auto& other : others) other->declare(branches[1]);
  declare_all(otherwise, branches[2]);
  symbols.join(branches);
}
void If::bind(Symbols& symbols) {
  condition->bind(symbols);
  bind_all(body, symbols);
  for (const auto& other : others) other->bind(symbols);
  bind_all(otherwise, symbols);
}
void If::walk(const NameWalker& walker) {
  condition->walk(walker);
  walk_all(body, walker);
  for (const auto& other : others) other->walk(walker);
  walk_all(otherwise, walker);
}
Flow If::run(Render& render, Scope& scope) const {
  if (truth(condition->value(render, scope))) return run_body(body, render, scope);
  for (const auto& other : others)
    if (truth(other->condition->value(render, scope))) return run_body(other->body, render, scope);
  return run_body(otherwise, render, scope);
}

void For::bind(Symbols& symbols) {
  iterated->bind(symbols);
  Symbols inner(body_frame, &symbols);
  bool reads_loop = recursive;
  walk_all(body, [&](const std::string& name, bool) { reads_loop = reads_loop || name == "loop"; });
  if (reads_loop) loop_slot = inner.parameter("loop");
  target.declare(inner, true);
  declare_all(body, inner);
  if (recursive) inner.capture();
  target.bind(inner);
  bind_all(body, inner);
  inner.finish();
  Symbols other(else_frame, &symbols);
  declare_all(otherwise, other);
  bind_all(otherwise, other);
  other.finish();
  if (!test) return;
  Symbols tested(test_frame, &symbols);
  test_target.declare(tested, true);
  test->declare(tested);
  test_target.bind(tested);
  test->bind(tested);
  tested.finish();
}
void For::walk(const NameWalker& walker) {
  target.walk(walker);
  iterated->walk(walker);
  walk_all(body, walker);
  walk_all(otherwise, walker);
  if (test) test->walk(walker);
}
std::vector<Value> For::select(Render& render, Scope& scope, std::vector<Value> items) const {
  std::vector<Value> chosen;
  Render::Entered entered(render, test_frame, scope);
  for (Value& item : items) {
    render.fill(test_frame, *entered);
    test_target.assign(render, *entered, item);
    if (truth(test->value(render, *entered))) chosen.push_back(std::move(item));
  }
  return chosen;
}
Flow For::run(Render& render, Scope& scope) const {
  iterate(render, scope, iterated->value(render, scope), 0);
  return Flow::on;
}
void For::iterate(Render& render, Scope& scope, const Value& over, int depth) const {
  Render::Level level(render);
  render.line = line;
  std::vector<Value> items = language::iterate(over, render.meter);
  if (test) items = select(render, scope, std::move(items));
  bool completed = false;  // as in Jinja2, else runs unless one turn got to the body's end
  {
    Loop* loop =
        loop_slot >= 0 ? render.make<Loop>(items, depth, recursive ? this : nullptr, &scope) : nullptr;
    Render::Entered entered(render, body_frame, scope);
    for (size_t i = 0; i < items.size(); ++i) {
      render.meter.charge(Meter::step);
      if (i > 0) render.fill(body_frame, *entered);
      if (loop) {
        loop->next();
        (*entered).slots[static_cast<size_t>(loop_slot)] = Value::object(loop);
      }
      target.assign(render, *entered, items[i]);
      const Flow flow = run_body(body, render, *entered);
      completed = completed || flow == Flow::on;
      if (flow == Flow::break_loop) break;
    }
    if (body_frame.captured) (*entered).slots.assign(body_frame.names.size(), Value());
  }
  if (completed || otherwise.empty()) return;
  Render::Entered entered(render, else_frame, scope);
  run_body(otherwise, render, *entered);
}

void Set::declare(Symbols& symbols) {
  expression->declare(symbols);
  target.declare(symbols, false);
}
void Set::bind(Symbols& symbols) {
  expression->bind(symbols);
  target.bind(symbols);
}
void Set::walk(const NameWalker& walker) {
  target.walk(walker);
  expression->walk(walker);
}
Flow Set::run(Render& render, Scope& scope) const {
  const Value value = expression->value(render, scope);
  render.line = line;
  target.assign(render, scope, value);
  return Flow::on;
}

void SetBlock::declare(Symbols& symbols) { target.declare(symbols, false); }
void SetBlock::bind(Symbols& symbols) {
  target.bind(symbols);
  Symbols inner(frame, &symbols);
  declare_all(body, inner);
  if (filter) filter->declare(inner);
  bind_all(body, inner);
  if (filter) filter->bind(inner);
  inner.finish();
}
void SetBlock::walk(const NameWalker& walker) {
  target.walk(walker);
  if (filter) filter->walk(walker);
  walk_all(body, walker);
}
Flow SetBlock::run(Render& render, Scope& scope) const {
  Render::Entered entered(render, frame, scope);
  Capture capture(render);
  run_body(body, render, *entered);
  Value value = Value::string(capture.take());
  if (filter) value = filter->apply(render, *entered, value);
  target.assign(render, scope, value);
  return Flow::on;
}

void FilterBlock::declare(Symbols& symbols) { filter->declare(symbols); }
void FilterBlock::bind(Symbols& symbols) {
  Symbols inner(frame, &symbols);
  declare_all(body, inner);
  filter->declare(inner);
  bind_all(body, inner);
  filter->bind(inner);
  inner.finish();
}
void FilterBlock::walk(const NameWalker& walker) {
  walk_all(body, walker);
  filter->walk(walker);
}
Flow FilterBlock::run(Render& render, Scope& scope) const {
  Render::Entered entered(render, frame, scope);
  Value text;
  {
    Capture capture(render);
    run_body(body, render, *entered);
    text = Value::string(capture.take());
  }
  const Value filtered = filter->apply(render, *entered, text);
  if (!filtered.is(Kind::string))
    throw Fault("a filter block must give a string, not " + type_name(filtered));
  render.write(filtered);
  return Flow::on;
}

void With::declare(Symbols& symbols) {
  for (const auto& [target, value] : values) value->declare(symbols);
}
void With::bind(Symbols& symbols) {
  for (const auto& [target, value] : values) value->bind(symbols);
  Symbols inner(frame, &symbols);
  for (const auto& [target, value] : values) target.declare(inner, true);
  declare_all(body, inner);
  for (auto& [target, value] : values) target.bind(inner);
  bind_all(body, inner);
  inner.finish();
}
void With::walk(const NameWalker& walker) {
  for (const auto& [target, value] : values) {
    target.walk(walker);
    value->walk(walker);
  }
  walk_all(body, walker);
}
Flow With::run(Render& render, Scope& scope) const {
  Render::Entered entered(render, frame, scope);
  for (const auto& [target, value] : values) target.assign(render, *entered, value->value(render, scope));
  return run_body(body, render, *entered);
}

void MacroBody::bind(Symbols& symbols) {
  symbols.capture();
  // Names the body reads without assigning them first are special.
  bool caller = false, kwargs = false, varargs = false;
  std::set<std::string> open = {"caller", "kwargs", "varargs"};
  walk_all(body, [&](const std::string& read, bool assigned) {
    if (!open.count(read)) return;
    if (assigned) {
      open.erase(read);
      return;
    }
    (read == "caller" ? caller : read == "kwargs" ? kwargs : varargs) = true;
  });
  const auto named = [&](const char* parameter) {
    return std::find(parameters.begin(), parameters.end(), parameter) != parameters.end();
  };
  explicit_caller = named("caller");
  if (caller && explicit_caller) {
    const auto at =
        static_cast<size_t>(std::find(parameters.begin(), parameters.end(), "caller") - parameters.begin());
    if (at < parameters.size() - defaults.size())
      throw error_at(line, "the special argument caller of a macro must be omitted or be given a default");
  }
  Symbols inner(frame, &symbols);
  for (const std::string& parameter : parameters) parameter_slots.push_back(inner.parameter(parameter));
  if (caller && !explicit_caller) caller_slot = inner.parameter("caller");
  if (kwargs && !named("kwargs")) kwargs_slot = inner.parameter("kwargs");
  if (varargs && !named("varargs")) varargs_slot = inner.parameter("varargs");
  for (const ExpressionPtr& expression : defaults) expression->declare(inner);
  declare_all(body, inner);
  for (const ExpressionPtr& expression : defaults) expression->bind(inner);
  bind_all(body, inner);
  inner.finish();
}
void MacroBody::walk(const NameWalker& walker) {
  for (const ExpressionPtr& expression : defaults) expression->walk(walker);
  walk_all(body, walker);
}

void Macro::bind(Symbols& symbols) {
  reference = symbols.resolve(macro.name);
  macro.bind(symbols);
}
void Macro::walk(const NameWalker& walker) { macro.walk(walker); }
Flow Macro::run(Render& render, Scope& scope) const {
  scope.at(reference) = Value::object(render.make<MacroObject>(macro, scope));
  return Flow::on;
}

void CallBlock::declare(Symbols& symbols) {
  if (call) call->declare(symbols);
}
void CallBlock::bind(Symbols& symbols) {
  if (call) call->bind(symbols);
  block.bind(symbols);
}
void CallBlock::walk(const NameWalker& walker) {
  if (call) call->walk(walker);
  block.walk(walker);
}
Flow CallBlock::run(Render& render, Scope& scope) const {
  auto* caller = render.make<MacroObject>(block, scope);
  const Value value = Value::object(caller);
  Arguments none;
  render.write(call ? call->call(render, scope, &value) : caller->call(render, none));
  return Flow::on;
}

}  // namespace lockstep::engine::language
