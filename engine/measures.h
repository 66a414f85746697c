// What benches need to know of a model and of a request's time. Part of the door, engine.h.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::engine {

// Bytes of device memory that a round takes, by the sizes of what lies there.
struct Footprint {
  uint64_t weights = 0;  // that every row takes; read once a round
  uint64_t experts = 0;  // all stacks of experts, of which a row takes `experts_per_row` of `expert_count`
  int expert_count = 0, experts_per_row = 0;
  uint64_t state = 0;     // the recurrent state of one lane; read and written
  uint64_t position = 0;  // keys and values of one position; read for each that a row attends to

  // Of weights and experts, for a round of one row a lane. A single row's experts are as many as its model
  // says; those of several rows are as many as even choices would make them.
  double weights_of(int rows) const;
};

// What all launches of one kernel took together; a CPU's kernels are its operations.
struct KernelTime {
  std::string name;
  bool linear;  // it computes linear layers
  uint64_t launches;
  double seconds;
};

}  // namespace lockstep::engine
