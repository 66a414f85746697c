// Device memory that Forward computes with; included by its own sources only.
#pragma once

#include "engine/models/forward.h"

namespace lockstep::engine {

// What is said of one row's logits: ids and logits, then maximum, log_sum and finite.
inline constexpr size_t candidate_bytes(int count) { return (2 * size_t(count) + 3) * sizeof(int32_t); }

// What the recurrence of one delta layer reads, and what a replay of it needs.
struct Forward::Recurrence {
  DeviceFloats qkv, convolved, a, update;  // update: only where a replay may follow
};

// What a round computes with, sized for the largest one.
struct Forward::Scratch {
  // A batch's tables, one after the other, copied in one go.
  DeviceArray<int32_t> tables;
  std::vector<int32_t> host_tables;
  const int32_t *tokens = nullptr, *logit_rows = nullptr, *hidden_rows = nullptr;
  DeviceArray<kernels::Sequence> settled;
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
  DeviceArray<std::byte> candidates;
  std::vector<std::byte> host_candidates;
  uint64_t bytes = 0;
};

}  // namespace lockstep::engine
