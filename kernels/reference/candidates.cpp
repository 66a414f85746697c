// Logits to ranked candidates and the total that log-probabilities need (canon.md, "Candidates").
#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/canon/fold.h"
#include "kernels/canon/math.h"
#include "kernels/reference/reference_device.h"

namespace lockstep::kernels {

void ReferenceDevice::run(const Candidates& op) {
  const size_t vocabulary = static_cast<size_t>(op.vocabulary);
  std::vector<int32_t> order(vocabulary);
  std::vector<float> p(vocabulary);
  for (int row = 0; row < op.rows; ++row) {
    const float* logits = op.logits + static_cast<ptrdiff_t>(row) * op.vocabulary;
    op.finite[row] =
        std::all_of(logits, logits + op.vocabulary, [](float l) { return canon::is_finite(l); }) ? 1 : 0;
    if (!op.finite[row]) continue;
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + op.count, order.end(), [&](int32_t a, int32_t b) {
      return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
    });
    for (int rank = 0; rank < op.count; ++rank) {
      const ptrdiff_t at = static_cast<ptrdiff_t>(row) * op.count + rank;
      op.id[at] = order[static_cast<size_t>(rank)];
      op.logit[at] = logits[order[static_cast<size_t>(rank)]];
    }
    const float largest = logits[order[0]];
    for (size_t i = 0; i < vocabulary; ++i) p[i] = canon::exp(logits[i] - largest);
    op.maximum[row] = largest;
    op.log_sum[row] = canon::log(canon::sum(p.data(), op.vocabulary));
  }
}

}  // namespace lockstep::kernels
