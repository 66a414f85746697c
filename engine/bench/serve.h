// What the benches share: many requests at once, served to the end.
#pragma once

#include <span>
#include <vector>

#include "engine/engine.h"

namespace lockstep::engine {

struct BenchJob {
  std::vector<int32_t> tokens;
  Sampling sampling;
  bool time_kernels = false;
};

// Submits all jobs and waits for all replies, in order of the jobs. Throws StartError when one fails.
std::vector<Reply> serve(Engine&, std::span<const BenchJob>);

// Tokens and time of decoding, of groups of replies that ran one group after the other.
struct DecodeTime {
  double tokens = 0, seconds = 0;

  // Replies that ran together: all tokens but each one's first, over the time from the first reply's first
  // token to the last one's end as each reply saw it.
  void add(std::span<const Reply>);
  double speed() const { return seconds > 0 ? tokens / seconds : 0; }  // tokens a second
};
double decode_speed(std::span<const Reply>);  // of one such group

// Random tokens below `vocabulary`, the same for the same variant.
std::vector<int32_t> text_of(int tokens, int variant, int vocabulary);

double median(std::vector<double> values);

}  // namespace lockstep::engine
