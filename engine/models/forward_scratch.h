// Device memory that Forward computes with; included by its own sources only.
#pragma once

#include "engine/models/forward.h"

namespace lockstep::engine {

// What the recurrence of one delta layer reads, and what a replay of it needs.
struct Forward::Recurrence {
  DeviceFloats qkv, convolved, a, update;  // update: only where a replay may follow
};

// What a round computes with, sized for the largest one.
struct Forward::Scratch {
  DeviceArray<int32_t> tokens, positions, row_sequence, pages, logit_rows, hidden_rows;
  DeviceArray<kernels::Sequence> sequences;
  DeviceFloats residual, branch;  // [rows][hidden]: the stream, and what the last layer adds to it
  Rows hidden, inner;             // inputs of linear layers: of hidden size, and of any other
  Recurrence recurrence;
  std::vector<Recurrence> drafted;  // of each delta layer, [draft_rows]
  DeviceFloats z, b;
  DeviceFloats q_gate, k, v, q_multiplier;
  DeviceArray<int8_t> q_high, q_low;
  DeviceFloats router_logits, expert_weight, routed, shared, shared_gate;
  DeviceArray<int32_t> expert;
  Rows expert_inner;  // [rows * experts_per_token]
  DeviceFloats
      stream;   // [rows + draft_rows + lanes * held_rows][hidden]: of run(), draft() and hold(), normed
  Rows joined;  // [rows][2 * hidden]: inputs of the multi-token head
  Rows last;
  DeviceFloats logits;
  uint64_t bytes = 0;
};

}  // namespace lockstep::engine
