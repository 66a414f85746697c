// Regular expressions of JSON Schema's "pattern" (ECMA-262 without flags), as automata.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/sampling/form/chars.h"

namespace lockstep::engine {

// The pattern is no regular expression.
struct PatternError : FormError {
  using FormError::FormError;
};

// The texts in which the pattern is found somewhere, as JSON Schema reads it. Nothing for what needs more
// than an automaton or a table: look-around, references back, \b, \p, and anchors inside a group.
// Throws PatternError, FormError when it is too large.
std::optional<CharAutomaton> compile_pattern(std::string_view pattern);

// The pattern of a "format", or empty for one that is not known here: date, time, date-time, uuid, ipv4,
// email, hostname.
std::string_view pattern_of_format(std::string_view format);

}  // namespace lockstep::engine
