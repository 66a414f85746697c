// Logits to ranked candidates and the total that log-probabilities need. One block a row.
#include "kernels/canon/math.h"
#include "kernels/device/words.h"
#include "kernels/gpu/args.h"
#include "kernels/gpu/layout.h"

namespace lockstep::kernels::gpu {

constexpr int most_ranked = candidate_threads;  // numbers that are sorted; more than the most candidates
constexpr int sum_chunk = 2048;                 // numbers whose exp is made before they are added
constexpr int digit_values = 256;
constexpr int loads_ahead = 8;

struct CandidateShared {
  int32_t histogram[digit_values];
  int32_t unfit, taken, digit, above;
  uint64_t order[most_ranked];
  float p[2][sum_chunk];
};
static_assert(sizeof(CandidateShared) == candidate_shared_bytes && most_ranked >= 4 * most_candidates);

// A logit and its id as one number that is larger the earlier the candidate ranks.
DEVICE_FUNCTION uint64_t rank_order(float logit, int id) {
  const uint32_t bits = canon::bits_of(logit == 0.0f ? 0.0f : logit);
  const uint32_t ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(ordered) << 32 | (0xffffffffu - static_cast<uint32_t>(id));
}

// f(logit, id) for this thread's share of the row.
template <class F>
DEVICE_FUNCTION void each_logit(const float* logits, int vocabulary, F f) {
  int i = thread_index();
  for (; i + (loads_ahead - 1) * candidate_threads < vocabulary; i += loads_ahead * candidate_threads) {
    float v[loads_ahead];
    UNROLL for (int k = 0; k < loads_ahead; ++k) v[k] = logits[i + k * candidate_threads];
    UNROLL for (int k = 0; k < loads_ahead; ++k) f(v[k], i + k * candidate_threads);
  }
  for (; i < vocabulary; i += candidate_threads) f(logits[i], i);
}

// The smallest order among the first `count`: digit by digit from the top, as long as more numbers share the
// digits found than are wanted.
DEVICE_FUNCTION uint64_t smallest_wanted(const CandidatesArgs& a, const float* logits,
                                         CandidateShared& shared) {
  uint64_t found = 0;
  int wanted = a.count;
  for (int shift = 56; shift >= 0; shift -= 8) {
    if (thread_index() < digit_values) shared.histogram[thread_index()] = 0;
    block_barrier();
    each_logit(logits, a.vocabulary, [&](float logit, int i) {
      const uint64_t order = rank_order(logit, i);
      if (shift == 56 || order >> (shift + 8) == found >> (shift + 8)) {
        shared_add(&shared.histogram[order >> shift & 255u], 1);
      }
    });
    block_barrier();
    if (thread_index() == 0) {
      int digit = digit_values - 1, above = 0;
      while (above + shared.histogram[digit] < wanted) above += shared.histogram[digit--];
      shared.digit = digit;
      shared.above = above;
    }
    block_barrier();
    found |= static_cast<uint64_t>(shared.digit) << shift;
    wanted -= shared.above;
    const bool all = shared.histogram[shared.digit] == wanted;
    block_barrier();
    if (all) break;
  }
  return found;
}

// Sorts order[0..most_ranked) falling.
DEVICE_FUNCTION void sort_orders(uint64_t* order) {
  for (int size = 2; size <= most_ranked; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      const int i = thread_index(), j = i ^ distance;
      if (j > i) {
        const uint64_t x = order[i], y = order[j];
        if ((x < y) == ((i & size) == 0)) {
          order[i] = y;
          order[j] = x;
        }
      }
      block_barrier();
    }
  }
}

// Puts all orders from `smallest` on into shared.order, zeros after them; counts those for which there is no
// room too.
DEVICE_FUNCTION void take_from(const CandidatesArgs& a, const float* logits, uint64_t smallest,
                               CandidateShared& shared) {
  shared.order[thread_index()] = 0;
  if (thread_index() == 0) shared.taken = 0;
  block_barrier();
  each_logit(logits, a.vocabulary, [&](float logit, int i) {
    const uint64_t order = rank_order(logit, i);
    if (order < smallest) return;
    const int place = shared_add(&shared.taken, 1);
    if (place < most_ranked) shared.order[place] = order;
  });
  block_barrier();
}

// A lane's strand (canon/fold.h) goes on over p[0..n).
DEVICE_FUNCTION float add_in_order(const float* p, int n, float strand) {
  int i = lane_index();
  for (; i + (loads_ahead - 1) * warp_lanes < n; i += loads_ahead * warp_lanes) {
    float v[loads_ahead];
    UNROLL for (int k = 0; k < loads_ahead; ++k) v[k] = p[i + k * warp_lanes];
    UNROLL for (int k = 0; k < loads_ahead; ++k) strand = strand + v[k];
  }
  for (; i < n; i += warp_lanes) strand = strand + p[i];
  return strand;
}

KERNEL(candidates, CandidatesArgs, candidate_threads) {
  wait_for_inputs();
  let_next_start();
  auto& shared = *reinterpret_cast<CandidateShared*>(shared_memory());
  const int64_t row = block_x();
  const float* logits = a.logits + row * a.vocabulary;
  if (thread_index() == 0) shared.unfit = 0;
  block_barrier();
  int32_t unfit = 0;
  uint64_t best = 0;
  each_logit(logits, a.vocabulary, [&](float logit, int i) {
    unfit |= canon::is_finite(logit) ? 0 : 1;
    const uint64_t order = rank_order(logit, i);
    best = order > best ? order : best;
  });
  if (unfit != 0) shared_add(&shared.unfit, 1);
  shared.order[thread_index()] = best;
  block_barrier();
  if (thread_index() == 0) a.finite[row] = shared.unfit ? 0 : 1;
  if (shared.unfit) return;
  // So many threads' largest numbers are at least as large as the last of them: so are the first `count`
  // numbers.
  sort_orders(shared.order);
  const uint64_t at_most_smallest = shared.order[a.count - 1];
  block_barrier();
  take_from(a, logits, at_most_smallest, shared);
  const bool fit = shared.taken <= most_ranked;
  block_barrier();
  if (!fit) take_from(a, logits, smallest_wanted(a, logits, shared), shared);
  sort_orders(shared.order);
  const auto id_of = [&](int rank) {
    return static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(shared.order[rank]));
  };
  const float largest = logits[id_of(0)];
  if (thread_index() < a.count) {
    const int32_t id = id_of(thread_index());
    a.id[row * a.count + thread_index()] = id;
    a.logit[row * a.count + thread_index()] = logits[id];
  }
  float strand = 0.0f;
  for (int first = 0, turn = 0; first < a.vocabulary; first += sum_chunk, ++turn) {
    float* p = shared.p[turn % 2];
    const int end = first + sum_chunk < a.vocabulary ? sum_chunk : a.vocabulary - first;
    for (int i = thread_index(); i < end; i += candidate_threads)
      p[i] = canon::exp(logits[first + i] - largest);
    block_barrier();
    if (warp_index() == 0) strand = add_in_order(p, end, strand);
  }
  if (warp_index() == 0) {
    const float sum = fold_lanes(strand);
    if (lane_index() == 0) {
      a.maximum[row] = largest;
      a.log_sum[row] = canon::log(sum);
    }
  }
}

}  // namespace lockstep::kernels::gpu
