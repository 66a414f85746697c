// Numbers of JSON between bounds, as automata. All have at most 18 digits before the point and as many
// behind it, so that no reply is digits without end. Between bounds they have at most 15 in all: whoever
// reads them as doubles sees what was compared here.
#pragma once

#include <optional>

#include "engine/sampling/form/grammar.h"

namespace lockstep::engine {

struct NumberShape {
  static constexpr int digits = 18, bounded_digits = 15;
  struct Bound {
    double value;
    bool exclusive;
  };
  bool integer = false;
  std::optional<Bound> low, high;
};

// Leads from one state to another by the texts of such numbers; with bounds none has an exponent. False if
// a bound is too large or too fine for this; nothing is added then.
bool add_numbers(GrammarBuilder&, const NumberShape&, Grammar::State from, Grammar::State to);

}  // namespace lockstep::engine
