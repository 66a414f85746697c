// Routing to experts and joining their outputs (canon.md, "Experts").
#include <vector>

#include "kernels/canon/math.h"
#include "kernels/reference/reference_device.h"

namespace lockstep::kernels {

namespace {

// Whether logit a goes before b where a's index is the higher one: strictly larger, NaN above every number.
bool goes_before(float a, float b) { return canon::is_nan(a) ? !canon::is_nan(b) : a > b; }

}  // namespace

void ReferenceDevice::run(const Router& op) {
  std::vector<bool> taken;
  for (int row = 0; row < op.rows; ++row) {
    const float* logits = op.logits + static_cast<ptrdiff_t>(row) * op.experts;
    int32_t* expert = op.expert + static_cast<ptrdiff_t>(row) * op.top;
    float* weight = op.weight + static_cast<ptrdiff_t>(row) * op.top;
    taken.assign(static_cast<size_t>(op.experts), false);
    float sum = 0.0f;
    for (int rank = 0; rank < op.top; ++rank) {
      int best = -1;
      for (int e = 0; e < op.experts; ++e) {
        if (taken[static_cast<size_t>(e)]) continue;
        if (best < 0 || goes_before(logits[e], logits[best])) best = e;
      }
      taken[static_cast<size_t>(best)] = true;
      expert[rank] = best;
      weight[rank] = canon::exp(logits[best] - logits[expert[0]]);
      sum = sum + weight[rank];
    }
    for (int rank = 0; rank < op.top; ++rank) weight[rank] = weight[rank] / sum;
  }
}

void ReferenceDevice::run(const CombineExperts& op) {
  for (int row = 0; row < op.rows; ++row) {
    const float shared_weight = canon::sigmoid(op.shared_gate[row]);
    for (int i = 0; i < op.length; ++i) {
      float y = 0.0f;
      for (int rank = 0; rank < op.top; ++rank) {
        const ptrdiff_t routed = static_cast<ptrdiff_t>(row) * op.top + rank;
        y = canon::fma(op.weight[routed], op.routed[routed * op.length + i], y);
      }
      const ptrdiff_t at = static_cast<ptrdiff_t>(row) * op.length + i;
      op.out[at] = canon::fma(shared_weight, op.shared[at], y);
    }
  }
}

}  // namespace lockstep::kernels
