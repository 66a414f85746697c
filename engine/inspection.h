// What a checkpoint consists of and needs on this machine: read from its headers, no weight is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/files/summary.h"

namespace lockstep::engine {

struct Inspection {
  std::string name;
  std::vector<std::string> problems;  // sentences; when there are any the model cannot be served as it is
  bool readable = false;              // else nothing below is known

  std::string family;
  int vocabulary = 0, context = 0;  // context: positions that the model was made for
  int experts = 0, experts_per_token = 0;
  bool multi_token_head = false;
  CheckpointSummary parts;

  std::string device;
  uint64_t budget = 0;          // bytes, of the options or what the machine gives
  uint64_t weight_bytes = 0;    // as on disk; packed for the device they are about as large
  uint64_t scratch_bytes = 0;   // for all requests at once
  uint64_t state_bytes = 0;     // of the linear layers, of one request
  uint64_t position_bytes = 0;  // KV of one position, in all layers of full attention
  int lanes = 0;
  struct Fit {
    int context;
    uint64_t kv_bytes;  // of one request
    int requests;       // of this length at once, at most `lanes`; 0: not even one
  };
  std::vector<Fit> fits;  // ascending; the last is the context that the options or the model set
};

}  // namespace lockstep::engine
