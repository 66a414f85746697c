#include "kernels/cpu/attention_plan.h"

#include <algorithm>

#include "kernels/cpu/scratch.h"

namespace lockstep::kernels::cpu {
namespace {

constexpr int span_positions = span_pages * page_positions;
constexpr int queries_of_item = 64;   // enough to make a page's work larger than reading it
constexpr int64_t page_overhead = 6;  // reading a page, in queries
constexpr int64_t small_cost = 3200;  // see cost(); a few microseconds
constexpr int64_t most_kept_bytes = int64_t{256} << 20;

int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Blocks of rows of one sequence, and what they cost.
struct Cutter {
  const Round& round;
  const AttentionShape& shape;
  int share = shape.query_heads / shape.key_heads;
  int block_rows = std::max(1, queries_of_item / share);

  int seen(const Sequence& s, int row, int rows) const {
    return round.position[s.first_row + row + rows - 1] + 1;
  }
  int64_t cost(int rows, int positions) const {
    return ceil_div(positions, page_positions) * (static_cast<int64_t>(rows) * share + page_overhead);
  }
  // f(sequence, first row in the sequence, rows, positions seen)
  template <class F>
  void each_block(const F& f) const {
    for (int i = 0; i < round.sequences; ++i) {
      const Sequence& s = round.sequence[i];
      for (int row = 0; row < s.rows; row += block_rows) {
        const int rows = std::min(block_rows, s.rows - row);
        f(s, row, rows, seen(s, row, rows));
      }
    }
  }
};

// The cost of one part above which a block's spans are shared out; INT64_MAX when the blocks do by
// themselves.
int64_t part_cost(int64_t items, int64_t total, int64_t most, int threads) {
  const int64_t each = std::max<int64_t>(1, total / threads);
  const int64_t waves = (items + threads - 1) / threads;
  if (threads == 1 || std::min(waves * most, each + most) * 4 <= each * 5) return INT64_MAX;
  return std::max<int64_t>(1, each / 4);
}

int parts_of(int64_t cost, int64_t part, int positions) {
  if (cost <= part) return 1;
  return static_cast<int>(std::min<int64_t>((cost + part - 1) / part, ceil_div(positions, span_positions)));
}

}  // namespace

AttentionPlan plan_attention(const Round& round, const AttentionShape& shape, int threads) {
  const Cutter cutter{round, shape};
  const int heads = shape.key_heads;
  AttentionPlan plan{};
  plan.query_heads = shape.query_heads;
  plan.kept_stride = shape.head_dim + 16;
  int64_t blocks = 0, total = 0, most = 0;
  cutter.each_block([&](const Sequence&, int, int rows, int positions) {
    const int64_t cost = cutter.cost(rows, positions);
    ++blocks;
    total += cost * heads;
    most = std::max(most, cost);
  });
  plan.small = total * (shape.head_dim + 64) < small_cost;
  int64_t part = part_cost(blocks * heads, total, most, plan.small ? 1 : threads);

  int64_t items = 0, kept = 0;
  const auto count = [&] {
    items = kept = 0;
    cutter.each_block([&](const Sequence&, int, int rows, int positions) {
      const int parts = parts_of(cutter.cost(rows, positions), part, positions);
      items += static_cast<int64_t>(parts) * heads;
      if (parts > 1)
        kept += static_cast<int64_t>(rows) * ceil_div(positions, span_positions) * shape.query_heads;
    });
  };
  count();
  if (kept * plan.kept_stride * static_cast<int64_t>(sizeof(float)) > most_kept_bytes) {
    part = INT64_MAX;
    count();
  }

  const auto n = static_cast<size_t>(items), rows_all = static_cast<size_t>(round.rows),
             numbers = static_cast<size_t>(kept * plan.kept_stride);
  Carver memory(call_scratch(padded<AttentionItem>(n) + padded<int32_t>(rows_all) +
                             padded<int64_t>(rows_all) + padded<float>(numbers)));
  plan.item = memory.take<AttentionItem>(n);
  plan.cut_row = memory.take<int32_t>(rows_all);
  plan.kept_start = memory.take<int64_t>(rows_all);
  plan.kept_numbers = memory.take<float>(numbers);
  int64_t start = 0;
  cutter.each_block([&](const Sequence& s, int first, int rows, int positions) {
    const int spans = ceil_div(positions, span_positions);
    const int parts = parts_of(cutter.cost(rows, positions), part, positions);
    for (int head = 0; head < heads; ++head) {
      for (int i = 0; i < parts; ++i) {
        plan.item[plan.items++] = {round.pages + s.page_table, s.first_row + first,     rows,      head,
                                   spans * i / parts,          spans * (i + 1) / parts, parts == 1};
      }
    }
    for (int row = s.first_row + first; parts > 1 && row < s.first_row + first + rows; ++row) {
      plan.cut_row[plan.cut_rows++] = row;
      plan.kept_start[row] = start;
      start += static_cast<int64_t>(spans) * shape.query_heads * plan.kept_stride;
    }
  });
  return plan;
}

}  // namespace lockstep::kernels::cpu
