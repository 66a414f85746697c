// What a checkpoint consists of, for people: told from its headers, no weight is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::engine {

class Checkpoint;

// What one role stores in one format.
struct RoleSummary {
  std::string role;    // "embedding", "full attention", "linear attention", "feed-forward", "router",
                       // "experts", "output head", "multi-token head", "small tensors"
  std::string format;  // "4 bits, groups of 64, BF16 scales"; "BF16", "F16", "F32"
  int tensors = 0;     // matrices, stacks of experts counted once; or small tensors
  int64_t weights = 0;
  uint64_t bytes = 0;  // scales and biases included
};

struct CheckpointSummary {
  int linear_layers = 0, full_layers = 0;  // of the trunk
  int64_t weights = 0;
  int64_t active_weights = 0;  // of the matrices that a token is multiplied with: of the experts only the
                               // chosen ones, the multi-token head not counted
  uint64_t bytes = 0;
  std::vector<RoleSummary> roles;  // in the order above, then by format
};

CheckpointSummary summarize(const Checkpoint& checkpoint);

}  // namespace lockstep::engine
