// Logits to ranked candidates and the total that log-probabilities need. One block a row.
#include "kernels/canon/math.h"
#include "kernels/device/words.h"
#include "kernels/gpu/args.h"

namespace lockstep::kernels::gpu {

constexpr int candidate_threads = 256;
constexpr int most_candidates = 256;
constexpr int sum_chunk = 2048;  // numbers whose exp is made before they are added
constexpr int digit_values = 256;

struct CandidateShared {
  int32_t histogram[digit_values];
  int32_t unfit, taken, digit, above;
  uint64_t order[most_candidates];
  float p[2][sum_chunk];
};

// A logit and its id as one number that is larger the earlier the candidate ranks.
DEVICE_FUNCTION uint64_t rank_order(float logit, int id) {
  const uint32_t bits = canon::bits_of(logit == 0.0f ? 0.0f : logit);
  const uint32_t ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(ordered) << 32 | (0xffffffffu - static_cast<uint32_t>(id));
}

// The smallest order among the first `count`: digit by digit from the top, as long as more numbers share the
// digits found than are wanted.
DEVICE_FUNCTION uint64_t smallest_wanted(const CandidatesArgs& a, const float* logits,
                                         CandidateShared& shared) {
  uint64_t found = 0;
  int wanted = a.count;
  for (int shift = 56; shift >= 0; shift -= 8) {
    for (int i = thread_index(); i < digit_values; i += candidate_threads) shared.histogram[i] = 0;
    block_barrier();
    for (int i = thread_index(); i < a.vocabulary; i += candidate_threads) {
      const uint64_t order = rank_order(logits[i], i);
      if (shift == 56 || order >> (shift + 8) == found >> (shift + 8)) {
        shared_add(&shared.histogram[order >> shift & 255u], 1);
      }
    }
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

// Sorts order[0..256) falling.
DEVICE_FUNCTION void sort_orders(uint64_t* order) {
  for (int size = 2; size <= most_candidates; size *= 2) {
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

KERNEL(candidates, CandidatesArgs, 256) {
  wait_for_inputs();
  let_next_start();
  auto& shared = *reinterpret_cast<CandidateShared*>(shared_memory());
  const int64_t row = block_x();
  const float* logits = a.logits + row * a.vocabulary;
  if (thread_index() == 0) shared.unfit = shared.taken = 0;
  shared.order[thread_index()] = 0;
  block_barrier();
  bool unfit = false;
  for (int i = thread_index(); i < a.vocabulary; i += candidate_threads)
    unfit = unfit || !canon::is_finite(logits[i]);
  if (unfit) shared_add(&shared.unfit, 1);
  block_barrier();
  if (thread_index() == 0) a.finite[row] = shared.unfit ? 0 : 1;
  if (shared.unfit) return;
  const uint64_t smallest = smallest_wanted(a, logits, shared);
  for (int i = thread_index(); i < a.vocabulary; i += candidate_threads) {
    const uint64_t order = rank_order(logits[i], i);
    if (order >= smallest) shared.order[shared_add(&shared.taken, 1)] = order;
  }
  block_barrier();
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
    if (warp_index() == 0) {
      for (int i = lane_index(); i < end; i += warp_lanes) strand = strand + p[i];
    }
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
