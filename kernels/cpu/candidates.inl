// Logits to ranked candidates and the total that log-probabilities need. Included by rows_*.cpp.
//
// First pass, chunks of a row: whether all is finite, and the chunk's best. A chunk that holds `count` logits
// tells the others that nothing below the least of them is wanted; that saves work and changes no result.
// Second pass: the sum of exponentials in 32 strands, 16 to a task, beside ranking what the chunks found.
#pragma once

#include "kernels/cpu/ranking.h"
#include "kernels/cpu/row_blocks.inl"
#include "kernels/cpu/scratch.h"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {
namespace {

constexpr int chunk_logits = 16384;
constexpr int kept_keys = 4 * most_candidates;

struct Chunk {
  int keys;
  bool finite;
  uint64_t key[kept_keys];
};

// What the tasks of one operation share.
struct CandidateWork {
  int chunks;       // of a row
  Chunk* chunk;     // [rows][chunks]
  uint32_t* floor;  // [rows]: orders below it are not wanted
  float* strand;    // [rows][32]
};

// Keeps the best `count` of a chunk, and raises the row's floor. Returns the largest float not wanted any
// more from later ids of this chunk.
float prune(Chunk& chunk, int count, uint32_t& floor) {
  chunk.keys = keep_largest(chunk.key, chunk.keys, count);
  uint32_t shared = __atomic_load_n(&floor, __ATOMIC_RELAXED);
  if (chunk.keys < count) return shared ? float_below(shared) : -canon::infinity();
  const uint32_t own = order_of(chunk.key[count - 1]);
  while (shared < own &&
         !__atomic_compare_exchange_n(&floor, &shared, own, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return own >= shared ? float_at(own) : float_below(shared);  // a later id of the same logit ranks behind
}

void scan_chunk(const float* logits, int first, int end, int count, Chunk& chunk, uint32_t& floor) {
  chunk.keys = 0;
  Ints most = broadcast(int32_t{0});
  float limit = prune(chunk, count, floor);
  for (int i = first; i < end; i += lanes) {
    const int left = end - i;
    const Floats x = left >= lanes ? load(logits + i) : load(logits + i, left);
    most = larger(most, bits_of(magnitude(x)));
    Mask wanted = x > broadcast(limit);
    if (left < lanes) wanted = wanted & first_lanes(left);
    for (uint32_t m = bits(wanted); m != 0; m &= m - 1) {
      const int id = i + __builtin_ctz(m);
      chunk.key[chunk.keys++] = rank_key(logits[id], id);
    }
    if (chunk.keys > kept_keys - lanes) limit = prune(chunk, count, floor);
  }
  chunk.finite = !any(most > broadcast(int32_t{0x7f7fffff}));
  prune(chunk, count, floor);
}

bool all_finite(const CandidateWork& work, int row) {
  for (int c = 0; c < work.chunks; ++c) {
    if (!work.chunk[row * work.chunks + c].finite) return false;
  }
  return true;
}

float largest_logit(const Candidates& op, const CandidateWork& work, int row) {
  uint64_t best = 0;
  for (int c = 0; c < work.chunks; ++c) {
    const Chunk& chunk = work.chunk[row * work.chunks + c];
    for (int i = 0; i < chunk.keys; ++i) best = chunk.key[i] > best ? chunk.key[i] : best;
  }
  return op.logits[static_cast<int64_t>(row) * op.vocabulary + id_of(best)];
}

// Strands 0..15 (half 0) or 16..31 (half 1) of the sum of exp(logit - largest).
void sum_strands(const Candidates& op, const CandidateWork& work, int row, int half) {
  const float* logits = op.logits + static_cast<int64_t>(row) * op.vocabulary;
  const Floats most = broadcast(largest_logit(op, work, row));
  Floats sum = broadcast(0.0f);
  int i = half * lanes;
  for (; i + lanes <= op.vocabulary; i += 2 * lanes) sum = sum + exp(load(logits + i) - most);
  if (i < op.vocabulary) {
    const int left = op.vocabulary - i;
    sum = sum + select(first_lanes(left), exp(load(logits + i, left) - most), broadcast(0.0f));
  }
  store(work.strand + row * 2 * lanes + half * lanes, sum);
}

// Joins the chunks' keys and writes the row's candidates.
void rank_row(const Candidates& op, const CandidateWork& work, int row) {
  Chunk all;
  all.keys = 0;
  const uint32_t floor = work.floor[row];
  for (int c = 0; c < work.chunks; ++c) {
    const Chunk& chunk = work.chunk[row * work.chunks + c];
    for (int i = 0; i < chunk.keys; ++i) {
      if (order_of(chunk.key[i]) < floor) continue;
      if (all.keys == kept_keys) all.keys = keep_largest(all.key, all.keys, op.count);
      all.key[all.keys++] = chunk.key[i];
    }
  }
  all.keys = keep_largest(all.key, all.keys, op.count);
  sort_largest_first(all.key, all.keys);
  for (int i = 0; i < op.count; ++i) {
    const int64_t at = static_cast<int64_t>(row) * op.count + i;
    op.id[at] = id_of(all.key[i]);
    op.logit[at] = op.logits[static_cast<int64_t>(row) * op.vocabulary + op.id[at]];
  }
}

}  // namespace

void candidates(const Candidates& op, Pool& pool) {
  const int chunks = (op.vocabulary + chunk_logits - 1) / chunk_logits;
  const auto rows = static_cast<size_t>(op.rows), all = rows * static_cast<size_t>(chunks);
  Carver memory(call_scratch(padded<Chunk>(all) + padded<uint32_t>(rows) + padded<float>(rows * 2 * lanes)));
  CandidateWork work{chunks, memory.take<Chunk>(all), memory.take<uint32_t>(rows), nullptr};
  work.strand = memory.take<float>(rows * 2 * lanes);
  for (int row = 0; row < op.rows; ++row) work.floor[row] = 0;
  for_tasks(pool, op.rows * chunks, false, [&](int task) {
    const int row = task / chunks, first = task % chunks * chunk_logits;
    const int end = op.vocabulary - first < chunk_logits ? op.vocabulary : first + chunk_logits;
    scan_chunk(op.logits + static_cast<int64_t>(row) * op.vocabulary, first, end, op.count, work.chunk[task],
               work.floor[row]);
  });
  for (int row = 0; row < op.rows; ++row) op.finite[row] = all_finite(work, row) ? 1 : 0;
  for_tasks(pool, op.rows * 3, static_cast<int64_t>(op.rows) * op.vocabulary < small_work / 2, [&](int task) {
    const int row = task / 3, part = task % 3;
    if (!op.finite[row]) return;
    if (part < 2) return sum_strands(op, work, row, part);
    rank_row(op, work, row);
  });
  for (int row = 0; row < op.rows; ++row) {
    if (!op.finite[row]) continue;
    op.maximum[row] = op.logit[static_cast<int64_t>(row) * op.count];
    const float* strand = work.strand + row * 2 * lanes;
    op.log_sum[row] = canon::log(fold(load(strand), load(strand + lanes)));
  }
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
