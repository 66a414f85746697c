// How one attention operation is cut into tasks. The cut changes no result.
#pragma once

#include <cstdint>

#include "kernels/operations.h"

namespace lockstep::kernels::cpu {

struct AttentionItem {
  const int32_t* pages;  // of the sequence
  int first_row, rows;   // of the round, of one sequence
  int head;              // key head, with all its query heads
  int first_span, end_span;
  bool whole;  // every span of its rows; otherwise each span's result is kept
};

struct AttentionPlan {
  AttentionItem* item;
  int items;
  bool small;  // too little work to share out

  // Rows whose spans are kept, to be joined afterwards.
  int32_t* cut_row;
  int cut_rows;
  int64_t* kept_start;  // [rows]
  float* kept_numbers;
  int query_heads, kept_stride;

  // o[head_dim], m, l of one span of a cut row.
  [[gnu::always_inline]] float* kept(int row, int head, int span) const {
    return kept_numbers + kept_start[row] + (static_cast<int64_t>(span) * query_heads + head) * kept_stride;
  }
};

// Lies in the calling thread's call_scratch().
AttentionPlan plan_attention(const Round&, const AttentionShape&, int threads);

}  // namespace lockstep::kernels::cpu
