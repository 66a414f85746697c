// The door of what guesses a reply's next tokens. A guess costs a row of the round and stands only if it is
// the token that the reply's own choice gives there, so drafters change the speed and never a reply.
//
// Threads: the engine's.
#pragma once

#include <span>

#include "engine/lanes/lane.h"

namespace lockstep::engine {

// A lane's part in the round that has just run: the first `stands` of its rows are true.
struct Stood {
  Lane* lane;
  int first_row;       // of the round
  int first_position;  // of that row
  int stands;
  bool over;  // the reply has ended
  bool kept;  // its prefix has just been kept: the head has read its rows
};

struct DraftWish {
  Lane* lane;  // decoding: one token has not been through the model; its guesses go to Lane::guesses
  int depth;   // guesses wanted, 1 or more
  // A guess of the head with less of a chance is not tried, and ends its chain.
  double least_chance = 0;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual Chance chance(const Lane&) const = 0;
  virtual bool computed() const = 0;  // guesses take time on the device
  // Called after every round, with the wishes of the next one; wishes' lanes are among those that stood.
  virtual void draft(std::span<const Stood>, std::span<const DraftWish>) = 0;
};

// Copies what followed earlier in the lane's own text.
class CopyDrafter final : public Drafter {
 public:
  Chance chance(const Lane& lane) const override { return {lane.copies.chance(), lane.copies.chance()}; }
  bool computed() const override { return false; }
  void draft(std::span<const Stood>, std::span<const DraftWish>) override;
};

// Replaces the guesses that others made by made-up ones, from a place on that is another one each time, and
// makes up those that are missing: for checks.
class Spoiler final : public Drafter {
 public:
  explicit Spoiler(int vocabulary) : vocabulary_(vocabulary) {}
  Chance chance(const Lane&) const override { return {}; }
  bool computed() const override { return false; }
  void draft(std::span<const Stood>, std::span<const DraftWish>) override;

 private:
  int vocabulary_;
};

}  // namespace lockstep::engine
