// Heads' norms and rotary, blocks of queries, keys and values into the pages; and reading pages.
#include "kernels/canon/math.h"
#include "kernels/canon/rotary.h"
#include "kernels/gpu/args.h"
#include "kernels/gpu/kv_layout.h"
#include "kernels/gpu/rows.h"

namespace lockstep::kernels::gpu {

// RMS norm of one head, then rotary on its first part, by one warp.
DEVICE_FUNCTION void prepare_head(const AttentionInputsArgs& a, const float* x, const float* weight,
                                  int32_t position, float* out) {
  const int dim = a.shape.head_dim, half = a.shape.rotary_dim / 2;
  const float ss = warp_sum_of_squares(dim, [&](int i) { return x[i]; });
  const float r = canon::inverse_root(ss / static_cast<float>(dim) + a.eps);
  for (int i = lane_index(); i < dim; i += warp_lanes) out[i] = (x[i] * r) * weight[i];
  warp_barrier();
  for (int i = lane_index(); i < half; i += warp_lanes) {
    const float angle = canon::rotary_angle(position, a.inv_freq[i]);
    canon::rotate(out[i], out[i + half], canon::cos(angle), canon::sin(angle));
  }
  warp_barrier();
}

// Grid: x heads / 4 (queries, keys, values of a row in turn), y rows. Shared: 4 heads of most_block floats.
KERNEL(attention_inputs, AttentionInputsArgs, 128) {
  wait_for_inputs();
  let_next_start();
  const int dim = a.shape.head_dim, queries = a.shape.query_heads, keys = a.shape.key_heads;
  const int64_t row = block_y();
  const int index = block_x() * 4 + warp_index();
  if (index >= queries + 2 * keys) return;
  const int32_t position = a.round.position[row];
  float* head = reinterpret_cast<float*>(shared_memory()) + warp_index() * most_block;
  if (index < queries) {
    prepare_head(a, a.q_gate + (row * queries + index) * 2 * dim, a.q_norm, position, head);
    write_block(a.q, row * queries + index, [&](int i) { return head[i]; });
    return;
  }
  const Sequence& sequence = a.round.sequence[a.round.row_sequence[row]];
  const int page = a.round.pages[sequence.page_table + position / page_positions];
  const int slot = position % page_positions, h = (index - queries) % keys;
  const KvHead kv = kv_head(a.pages, keys, dim, page, h);
  float multiplier;
  if (index < queries + keys) {
    prepare_head(a, a.k + (row * keys + h) * dim, a.k_norm, position, head);
    multiplier = warp_block(
        dim, [&](int i) { return head[i]; }, [&](int i) { return key_at(dim, slot, i); },
        reinterpret_cast<int8_t*>(kv.key_high), reinterpret_cast<int8_t*>(kv.key_low), nullptr);
    if (lane_index() == 0) kv.key_multiplier[slot] = multiplier;
  } else {
    const float* v = a.v + (row * keys + h) * dim;
    multiplier = warp_block(
        dim, [&](int i) { return v[i]; }, [&](int i) { return value_at(slot, i); },
        reinterpret_cast<int8_t*>(kv.value_high), reinterpret_cast<int8_t*>(kv.value_low), nullptr);
    if (lane_index() == 0) kv.value_multiplier[slot] = multiplier;
  }
}

// Grid: x positions, y key heads.
KERNEL(kv_read, KvReadArgs, 64) {
  wait_for_inputs();
  let_next_start();
  const int position = block_x(), h = block_y(), slot = position % page_positions, dim = a.head_dim;
  const KvHead kv = kv_head(a.kv, a.key_heads, dim, a.pages[position / page_positions], h);
  const int64_t block = static_cast<int64_t>(position) * a.key_heads + h;
  for (int d = thread_index(); d < dim; d += 64) {
    const int64_t to = block * dim + d;
    a.k_high[to] = static_cast<int8_t>(kv.key_high[key_at(dim, slot, d)]);
    a.k_low[to] = static_cast<int8_t>(kv.key_low[key_at(dim, slot, d)]);
    a.v_high[to] = static_cast<int8_t>(kv.value_high[value_at(slot, d)]);
    a.v_low[to] = static_cast<int8_t>(kv.value_low[value_at(slot, d)]);
  }
  if (thread_index() == 0) {
    a.k_multiplier[block] = kv.key_multiplier[slot];
    a.v_multiplier[block] = kv.value_multiplier[slot];
  }
}

}  // namespace lockstep::kernels::gpu
