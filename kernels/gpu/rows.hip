// Operations that treat each row by itself: norm, blocks, gather, router, joining experts.
#include "kernels/gpu/rows.h"

#include "kernels/canon/math.h"
#include "kernels/gpu/args.h"
#include "kernels/gpu/layout.h"

namespace lockstep::kernels::gpu {

// One block a row; shared: the row's numbers and one more. A thread keeps its numbers: what it loads is on
// its way at once.
KERNEL(rms_norm, NormArgs, norm_threads) {
  constexpr int most = most_norm_length / norm_threads;
  float own[most], weight[most];
  const auto each = [&](auto f) {
    UNROLL for (int k = 0; k < most; ++k) {
      const int i = k * norm_threads + thread_index();
      if (k * norm_threads >= a.length) break;
      if (i < a.length) f(k, i);
    }
  };
  each([&](int k, int i) { weight[k] = a.weight[i]; });
  wait_for_inputs();
  let_next_start();
  const int64_t row = block_x();
  float* numbers = reinterpret_cast<float*>(shared_memory());
  float* root = numbers + a.length;
  float* x = a.x + row * a.length;
  each([&](int k, int i) { own[k] = x[i]; });
  if (a.add) {
    float add[most];
    each([&](int k, int i) { add[k] = a.add[row * a.length + i]; });
    each([&](int k, int i) {
      own[k] = own[k] + add[k];
      x[i] = own[k];
    });
  }
  each([&](int k, int i) { numbers[i] = own[k]; });
  block_barrier();
  if (warp_index() == 0) {
    const float ss = warp_sum_of_squares(a.length, [&](int i) { return numbers[i]; });
    if (lane_index() == 0) *root = canon::inverse_root(ss / static_cast<float>(a.length) + a.eps);
  }
  block_barrier();
  const float r = *root;
  each([&](int k, int i) {
    const float y = (own[k] * r) * weight[k];
    numbers[i] = y;
    if (a.out) a.out[row * a.out_stride + i] = y;
  });
  if (!a.blocks.high) return;
  block_barrier();
  const int groups = a.length / a.blocks.group;
  for (int g = warp_index(); g < groups; g += norm_threads / warp_lanes) {
    const float* from = numbers + g * a.blocks.group;
    write_block(a.blocks, row * groups + g, [&](int i) { return from[i]; });
  }
}

// One warp a block of numbers.
KERNEL(quantize, QuantizeArgs, 256) {
  wait_for_inputs();
  let_next_start();
  const int64_t index = static_cast<int64_t>(block_x()) * 8 + warp_index();
  if (index >= a.count) return;
  const float* x = a.x + index * a.blocks.group;
  write_block(a.blocks, index, [&](int i) { return x[i]; });
}

KERNEL(gather, CopyRowsArgs, 256) {
  wait_for_inputs();
  let_next_start();
  const int i = block_x() * 256 + thread_index();
  const int64_t row = block_y();
  if (i < a.length) a.out[row * a.length + i] = a.x[static_cast<int64_t>(a.row[row]) * a.length + i];
}

KERNEL(combine_experts, CombineArgs, 256) {
  wait_for_inputs();
  let_next_start();
  const int i = block_x() * 256 + thread_index();
  const int64_t row = block_y();
  if (i >= a.length) return;
  float y = 0.0f;
  for (int rank = 0; rank < a.top; ++rank) {
    const int64_t routed = row * a.top + rank;
    y = canon::fma(a.weight[routed], a.routed[routed * a.length + i], y);
  }
  const int64_t at = row * a.length + i;
  a.out[at] = canon::fma(canon::sigmoid(a.shared_gate[row]), a.shared[at], y);
}

// A logit as an integer that orders as the router does: NaN above every number, +0 and -0 equal.
DEVICE_FUNCTION int32_t router_order(float logit) {
  if (canon::is_nan(logit)) return 0x7fffffff;
  const int32_t bits = static_cast<int32_t>(canon::bits_of(logit == 0.0f ? 0.0f : logit));
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}

// One warp a row; shared: the row's logits as integers, those taken made smallest.
KERNEL(router, RouterArgs, 32) {
  wait_for_inputs();
  let_next_start();
  constexpr int32_t taken = static_cast<int32_t>(0x80000000u);
  const int64_t row = block_x();
  const float* logits = a.logits + row * a.experts;
  int32_t* order = reinterpret_cast<int32_t*>(shared_memory());
  const int lane = lane_index();
  for (int e = lane; e < a.experts; e += warp_lanes) order[e] = router_order(logits[e]);
  warp_barrier();
  float first = 0.0f, sum = 0.0f;
  for (int rank = 0; rank < a.top; ++rank) {
    int32_t best = taken, index = 0x7fffffff;
    for (int e = lane; e < a.experts; e += warp_lanes) {
      if (order[e] > best) {
        best = order[e];
        index = e;
      }
    }
    const auto meet = [&](int32_t other, int32_t other_index) {
      if (other > best || (other == best && other_index < index)) {
        best = other;
        index = other_index;
      }
    };
    meet(exchange<16>(best), exchange<16>(index));
    meet(exchange<8>(best), exchange<8>(index));
    meet(exchange<4>(best), exchange<4>(index));
    meet(exchange<2>(best), exchange<2>(index));
    meet(exchange<1>(best), exchange<1>(index));
    const float logit = logits[index];
    if (rank == 0) first = logit;
    const float p = canon::exp(logit - first);
    sum = sum + p;
    warp_barrier();
    if (lane == 0) {
      order[index] = taken;
      a.expert[row * a.top + rank] = index;
      a.weight[row * a.top + rank] = p;
    }
    warp_barrier();
  }
  if (lane == 0) {
    for (int rank = 0; rank < a.top; ++rank) {
      float* weight = a.weight + row * a.top + rank;
      *weight = *weight / sum;
    }
  }
}

// Routed rows by expert, for linear layers that read an expert's weights once for a group of rows. One block
// an expert, which counts the rows of the experts before it too; shared: two numbers of each warp.
KERNEL(group_rows, GroupRowsArgs, 256) {
  wait_for_inputs();
  let_next_start();
  constexpr int threads = 256, warps = threads / warp_lanes;
  const int expert = block_x();
  int before = 0, own = 0;
  for (int i = thread_index(); i < a.rows; i += threads) {
    before += a.expert[i] < expert;
    own += a.expert[i] == expert;
  }
  // Rows of this expert that lower lanes have, then lower warps.
  int lower = 0, all = own;
  const auto meet = [&](int other, int mask) {
    if (lane_index() & mask) lower += other;
    all += other;
  };
  meet(exchange<1>(all), 1);
  meet(exchange<2>(all), 2);
  meet(exchange<4>(all), 4);
  meet(exchange<8>(all), 8);
  meet(exchange<16>(all), 16);
  before = sum_of_lanes(before);
  auto* shared = reinterpret_cast<int32_t*>(shared_memory());
  if (lane_index() == 0) {
    shared[warp_index()] = all;
    shared[warps + warp_index()] = before;
  }
  block_barrier();
  int count = 0, first = 0;
  for (int w = 0; w < warps; ++w) {
    if (w < warp_index()) lower += shared[w];
    count += shared[w];
    first += shared[warps + w];
  }
  int at = first + lower;
  for (int i = thread_index(); i < a.rows; i += threads) {
    if (a.expert[i] == expert) a.order[at++] = i;
  }
  // With the empty ones up to the next expert's.
  const int group = first / a.size + expert, next = (first + count) / a.size + expert + 1;
  for (int i = thread_index(); group + i < next; i += threads) {
    const int done = i * a.size, left = count - done;
    a.groups[group + i] = {expert, first + done, left < a.size ? left > 0 ? left : 0 : a.size, 0};
  }
}

}  // namespace lockstep::kernels::gpu
