// Texts tried against a compiled schema, and texts drawn from it.
#pragma once

#include <set>
#include <string>

#include "engine/chat/language/json.h"
#include "engine/sampling/form/matcher.h"
#include "engine/sampling/form/schema.h"

namespace lockstep::test {

struct CompiledSchema {
  std::shared_ptr<const engine::Grammar> grammar;
  std::set<std::string> notes;
};

inline CompiledSchema compiled(const std::string& schema, bool raw = false) {
  engine::language::Meter meter;
  const engine::language::Value value = engine::language::parse_json(schema, meter);
  CompiledSchema out;
  engine::GrammarBuilder builder;
  engine::SchemaCompiler compiler(builder, out.notes);
  out.grammar = builder.finish(raw ? compiler.raw(value, value) : compiler.json(value, value));
  return out;
}

inline bool fits(const std::shared_ptr<const engine::Grammar>& grammar, const std::string& text) {
  engine::Matcher matcher(grammar);
  if (text.empty()) return matcher.complete();
  if (!matcher.allows(text)) return false;
  matcher.advance(text);
  return matcher.complete();
}

inline bool fits(const std::string& schema, const std::string& text, bool raw = false) {
  return fits(compiled(schema, raw).grammar, text);
}

// A text drawn byte by byte from what is allowed. It ends where it may once it is long enough, and fails with
// an empty text if it comes to a dead end.
inline std::string drawn(const std::shared_ptr<const engine::Grammar>& grammar, uint64_t seed, size_t enough,
                         size_t most) {
  engine::Matcher matcher(grammar);
  std::string text;
  for (uint64_t state = seed * 2654435761u + 1; text.size() < most;) {
    const auto random = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
    if (matcher.complete() && (text.size() >= enough || random() % 4 == 0)) return text;
    std::string allowed;
    for (int byte = 0; byte < 256; ++byte)
      if (matcher.allows(std::string(1, static_cast<char>(byte)))) allowed += static_cast<char>(byte);
    if (allowed.empty()) return matcher.complete() ? text : std::string();
    char next = allowed[random() % allowed.size()];
    // Ends what can be ended once the text is long.
    if (text.size() > enough)
      for (const char closing : {'"', '}', ']', ',', ':', '0'})
        if (allowed.find(closing) != std::string::npos && random() % 2) {
          next = closing;
          break;
        }
    matcher.advance(std::string(1, next));
    text += next;
  }
  return text;
}

}  // namespace lockstep::test
