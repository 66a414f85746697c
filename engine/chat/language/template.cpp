#include "engine/chat/language/template.h"

#include "engine/chat/language/builtins.h"
#include "engine/chat/language/parser.h"

namespace lockstep::engine::language {

struct Template::State {
  Body body;
  Frame frame;
};

Template::Template(std::unique_ptr<State> state) : state_(std::move(state)) {}
Template::Template(Template&&) noexcept = default;
Template::~Template() = default;

Template Template::parse(std::string_view source) {
  if (source.size() > max_text_bytes) throw TemplateError("the chat template is larger than 64 MiB");
  auto state = std::make_unique<State>();
  state->body = Parser(source).parse();
  Symbols symbols(state->frame, nullptr);
  for (const auto& statement : state->body) statement->declare(symbols);
  for (const auto& statement : state->body) statement->bind(symbols);
  symbols.finish();
  return Template(std::move(state));
}

MarkedText Template::render(const Dict& variables) const {
  Render render(variables);
  Text output;
  render.output = &output;
  Scope root;
  try {
    render.fill(state_->frame, root);
    run_body(state_->body, render, root);
  } catch (const Fault& fault) {
    throw error_at(render.line, fault.what());
  }
  return std::move(static_cast<MarkedText&>(output));
}

}  // namespace lockstep::engine::language
