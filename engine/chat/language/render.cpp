#include "engine/chat/language/render.h"

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {

void Render::write(const Text& text) {
  check_text_bytes(output->text.size() + text.text.size());
  meter.charge(text.text.size());
  output->append(text);
}

void Render::write(const Value& value) {
  if (value.is(Kind::string))
    write(value.text());
  else
    write(to_text(value, meter));
}

Render::Entered::Entered(Render& render, const Frame& frame, Scope& parent) {
  if (frame.captured) {
    render.meter.charge(sizeof(Scope) + 64);
    render.scopes_.push_back(std::make_unique<Scope>());
    scope_ = render.scopes_.back().get();
  }
  scope_->parent = &parent;
  render.fill(frame, *scope_);
}

void Render::fill(const Frame& frame, Scope& scope) {
  meter.charge(frame.loads.size() * sizeof(Value));
  scope.slots.assign(frame.loads.size(), Value());
  for (size_t i = 0; i < frame.loads.size(); ++i) {
    const Load& load = frame.loads[i];
    if (load.from == Load::From::outer) {
      scope.slots[i] = scope.at({load.hops, load.slot});
    } else if (load.from == Load::From::variables) {
      const Value name = Value::literal(frame.names[i]);
      const Value* found = variables_.find(name, meter);
      if (!found) found = globals().find(name, meter);
      if (found) scope.slots[i] = *found;
    }
  }
}

}  // namespace lockstep::engine::language
