// Linear layers of bf16 weights, and pairs with SwiGLU.
#include "kernels/canon/math.h"
#include "kernels/gpu/weights.h"

namespace lockstep::kernels::gpu {

constexpr int dense_rows = 8;   // rows of a block
constexpr int dense_warps = 8;  // each takes every eighth segment

// One segment of a lane's output for all rows of the block.
DEVICE_FUNCTION void dense_segment(const LinearArgs& a, const uint16_t* weights, int64_t first, int rows,
                                   int segment, int inputs, float* sum) {
  const int end = (segment + 1) * segment_inputs < inputs ? (segment + 1) * segment_inputs : inputs;
  const float* x[dense_rows];
  UNROLL for (int r = 0; r < dense_rows; ++r) {
    sum[r] = 0.0f;
    x[r] = a.x + (first + (r < rows ? r : 0)) / a.rows_per_input * inputs;
  }
  for (int i = segment * segment_inputs; i < end; ++i) {
    const float w =
        canon::float_of(static_cast<uint32_t>(weights[static_cast<int64_t>(i) * strip_outputs]) << 16);
    UNROLL for (int r = 0; r < dense_rows; ++r) sum[r] = canon::fma(w, x[r][i], sum[r]);
  }
}

// Grid: x strips of all parts, y blocks of rows, or rows when each has its expert.
template <bool pair>
DEVICE_FUNCTION void linear_dense(const LinearArgs& a) {
  wait_for_inputs();
  let_next_start();
  int p = 0;
  while (p + 1 < a.parts && block_x() >= a.part[p + 1].first_strip) ++p;
  const LinearPart& part = a.part[p];
  const PackedWeights& w = part.weights;
  constexpr int halves = pair ? 2 : 1;
  const int strip = block_x() - part.first_strip, lane = lane_index();
  const int64_t first = a.expert ? block_y() : block_y() * dense_rows;
  const int rows = a.expert ? 1 : a.rows - static_cast<int>(first);
  const int expert = a.expert ? a.expert[block_y()] : 0;
  const int segments = (w.inputs + segment_inputs - 1) / segment_inputs;
  auto* shared = reinterpret_cast<float*>(shared_memory());  // [warps][rows][32]
  float y[halves];
  for (int h = 0; h < halves; ++h) {
    y[h] = 0.0f;
    const auto* weights =
        reinterpret_cast<const uint16_t*>(w.data + static_cast<uint64_t>(expert) * w.expert_bytes +
                                          static_cast<uint64_t>(strip * halves + h) * w.strip_bytes) +
        lane;
    for (int start = 0; start < segments; start += dense_warps) {
      if (start + warp_index() < segments) {
        float sum[dense_rows];
        dense_segment(a, weights, first, rows, start + warp_index(), w.inputs, sum);
        UNROLL for (int r = 0; r < dense_rows; ++r) {
          shared[(warp_index() * dense_rows + r) * 32 + lane] = sum[r];
        }
      }
      block_barrier();
      for (int s = 0; s < dense_warps && start + s < segments; ++s) {
        const float v = shared[(s * dense_rows + warp_index()) * 32 + lane];
        y[h] = start + s == 0 ? v : y[h] + v;
      }
      block_barrier();
    }
  }
  const int output = strip * strip_outputs + lane, row = warp_index();
  if (row >= rows || output >= w.outputs) return;
  float v = y[0];
  if constexpr (pair) v = canon::silu(v) * y[halves - 1];
  part.y[(first + row) * part.stride + output] = v;
}

KERNEL(linear_dense, LinearArgs, 256) { linear_dense<false>(a); }
KERNEL(swiglu_dense, LinearArgs, 256) { linear_dense<true>(a); }

}  // namespace lockstep::kernels::gpu
