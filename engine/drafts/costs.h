// How deep to guess: which guesses to try in the next round, from what rounds cost and how often guesses
// stand.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "engine/drafts/acceptance.h"

namespace lockstep::engine {

// Seconds by number of rows, measured.
class TimeByRows {
 public:
  // The first of a number of rows sets its time. Later ones blend in, and carry the other numbers along: a
  // machine that is slower now is slower with any number of rows. Returns how much slower.
  double measured(int rows, double seconds);
  void scale(double factor);
  // Between two numbers that were measured, a line; beyond the last, the last line goes on. 0 before anything
  // was measured.
  double at(int rows) const;

 private:
  std::map<int, double> seconds_;
};

struct RoundCosts {
  TimeByRows round;  // of decoded rows, guesses among them
  TimeByRows draft;  // of one guess of the multi-token head for each of so many lanes

  // A slower machine is slower with guesses too, which nobody may be timing now.
  void measured_round(int rows, double seconds) { draft.scale(round.measured(rows, seconds)); }
};

// What one lane could try.
struct DraftOffer {
  Chance chance;
  int most;       // guesses
  bool computed;  // by the multi-token head, one after the other; copies cost nothing
};

struct Depths {
  std::vector<int> of;      // guesses of each lane
  double least_chance = 0;  // with less of a chance, a guess does not pay for its row
};
// Guesses of each lane in the next round, so that tokens a second are the most that the costs promise. At
// most `most_rows` rows in all. None at all unless the promise is `least_gain` times the undrafted speed.
Depths choose_depths(std::span<const DraftOffer>, const RoundCosts&, int most_rows, double least_gain);

}  // namespace lockstep::engine
