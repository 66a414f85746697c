// A parsed chat template, rendered the way Hugging Face renders one: Jinja2's immutable sandbox with
// trim_blocks, lstrip_blocks, loop controls, {% generation %} (which only prints its body), raise_exception,
// strftime_now and a tojson that is json.dumps(ensure_ascii=False).
//
// Threads: render() may run on several threads at once. It needs up to 2 MiB of stack.
#pragma once

#include <memory>
#include <string_view>

#include "engine/chat/language/value.h"

namespace lockstep::engine::language {

class Template {
 public:
  static Template parse(std::string_view source);  // throws TemplateError
  Template(Template&&) noexcept;
  ~Template();

  // Throws TemplateError: what the template itself raises, or an error with its line.
  MarkedText render(const Dict& variables) const;

 private:
  struct State;
  explicit Template(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::engine::language
