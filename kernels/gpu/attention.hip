// Attention over paged keys and values: each block takes 16 queries of one key head over one span; a second
// kernel joins the spans.
#include "kernels/canon/blocks.h"
#include "kernels/canon/math.h"
#include "kernels/gpu/args.h"
#include "kernels/gpu/kv_layout.h"

namespace lockstep::kernels::gpu {

constexpr int attention_warps = 8;
constexpr int span_positions = page_positions * span_pages;
constexpr int score_pitch = span_positions + 4;

// Shared memory of a block.
template <int units>
struct AttentionShared {
  uint8_t query_high[units][a_unit_bytes], query_low[units][a_unit_bytes];
  uint8_t weight_high[span_pages][a_unit_bytes], weight_low[span_pages][a_unit_bytes];
  float score[tile_rows][score_pitch];
  float query_multiplier[tile_rows];
  float factor[span_pages][tile_rows], weight_multiplier[span_pages][tile_rows];  // a and w's multiplier
  int32_t seen[tile_rows];  // positions of the span that a query sees; 0 also where there is no query
};

// Which queries a block has: 16 of the (row, head of the key head) pairs of one sequence.
struct QueryTile {
  int sequence = -1, first = 0;  // first: index among the pairs of the sequence's rows in this launch
  int first_row = 0, rows = 0;   // those rows, of the round
};

// The tile with number `index` among those of all sequences.
DEVICE_FUNCTION QueryTile find_tile(const AttentionArgs& a, int index, int heads) {
  QueryTile tile;
  for (int s = 0; s < a.round.sequences; ++s) {
    const Sequence& sequence = a.round.sequence[s];
    const int from = sequence.first_row > a.first_row ? sequence.first_row : a.first_row;
    const int end =
        sequence.first_row + sequence.rows < a.end_row ? sequence.first_row + sequence.rows : a.end_row;
    if (end <= from) continue;
    const int tiles = ((end - from) * heads + tile_rows - 1) / tile_rows;
    if (index < tiles) {
      tile.sequence = s;
      tile.first = index * tile_rows;
      tile.first_row = from;
      tile.rows = end - from;
      return tile;
    }
    index -= tiles;
  }
  return tile;
}

// F of the canon from a tile's three sums.
struct ByteSums {
  TileSums high, middle, low;
  DEVICE_METHOD void clear() { high = middle = low = no_sums(); }
  DEVICE_METHOD void add(const TileA& a_high, const TileA& a_low, const TileB& b_high, const TileB& b_low) {
    multiply<true>(high, a_high, b_high);
    multiply<true>(middle, a_high, b_low);
    multiply<true>(middle, a_low, b_high);
    multiply<true>(low, a_low, b_low);
  }
  DEVICE_METHOD float joined(int i) const {
    return canon::join_products(high.sum[i], middle.sum[i], low.sum[i]);
  }
};

// Queries of the tile into shared memory.
template <int units>
DEVICE_FUNCTION void load_queries(const AttentionArgs& a, const QueryTile& tile, int heads, int span,
                                  AttentionShared<units>& shared) {
  const int dim = a.shape.head_dim;
  for (int i = thread_index(); i < tile_rows * units * 16; i += attention_warps * warp_lanes) {
    const int query = i / (units * 16), d = i % (units * 16) * 4, pair = tile.first + query;
    uint32_t high = 0, low = 0;
    if (pair < tile.rows * heads && d < dim) {
      const int64_t block = static_cast<int64_t>(tile.first_row + pair / heads) * a.shape.query_heads +
                            block_y() * heads + pair % heads;
      high = *reinterpret_cast<const uint32_t*>(a.q.high + block * dim + d);
      low = *reinterpret_cast<const uint32_t*>(a.q.low + block * dim + d);
    }
    const int at = a_unit_at(query, d % unit_inputs);
    *reinterpret_cast<uint32_t*>(shared.query_high[d / unit_inputs] + at) = high;
    *reinterpret_cast<uint32_t*>(shared.query_low[d / unit_inputs] + at) = low;
  }
  if (thread_index() < tile_rows) {
    const int query = thread_index(), pair = tile.first + query;
    int32_t seen = 0;
    float multiplier = 0.0f;
    if (pair < tile.rows * heads) {
      const int row = tile.first_row + pair / heads;
      seen = a.round.position[row] + 1 - span * span_positions;
      seen = seen < 0 ? 0 : (seen > span_positions ? span_positions : seen);
      multiplier =
          a.q.multiplier[static_cast<int64_t>(row) * a.shape.query_heads + block_y() * heads + pair % heads];
    }
    shared.seen[query] = seen;
    shared.query_multiplier[query] = multiplier;
  }
}

// Scores of the tile with the positions of one page, by all warps.
template <int units>
DEVICE_FUNCTION void score_page(const AttentionArgs& a, const KvHead& kv, int page,
                                AttentionShared<units>& shared) {
  const int lane = lane_index();
  for (int t = warp_index(); t < page_positions / tile_columns; t += attention_warps) {
    ByteSums sums;
    sums.clear();
    UNROLL_TILES for (int u = 0; u < units; ++u) {
      if (u >= units_of_head(a.shape.head_dim)) break;
      const int at = key_unit(a.shape.head_dim, t, u);
      UNROLL_TILES for (int s = 0; s < 2; ++s) {
        sums.add(tile_a_packed(shared.query_high[u], lane, s), tile_a_packed(shared.query_low[u], lane, s),
                 tile_b_packed(kv.key_high + at, lane, s), tile_b_packed(kv.key_low + at, lane, s));
      }
    }
    UNROLL for (int i = 0; i < tile_sums; ++i) {
      const int query = sum_row(lane, i), slot = t * tile_columns + sum_column(lane, i);
      shared.score[query][page * page_positions + slot] =
          ((sums.joined(i) * shared.query_multiplier[query]) * kv.key_multiplier[slot]) * a.scale;
    }
  }
}

// Maximum, total and blocks of weights of one query over the span's pages, by one warp; two positions a lane.
template <int units>
DEVICE_FUNCTION void weigh(const AttentionArgs& a, const int32_t* table, int query,
                           AttentionShared<units>& shared, float& m, float& l) {
  const int lane = lane_index(), seen = shared.seen[query];
  m = -canon::infinity();
  l = 0.0f;
  for (int page = 0; page * page_positions < seen; ++page) {
    const float* value_multiplier =
        kv_head(a.pages, a.shape.key_heads, a.shape.head_dim, table[page], block_y()).value_multiplier;
    float s[2], p[2], w[2];
    bool visible[2];
    float largest = m;
    UNROLL for (int j = 0; j < 2; ++j) {
      const int at = page * page_positions + j * warp_lanes + lane;
      visible[j] = at < seen;
      s[j] = visible[j] ? shared.score[query][at] : canon::quiet_nan();
      largest = canon::maximum(largest, s[j]);
    }
    largest = largest_of_lanes(largest);
    const float factor = canon::exp(m - largest);
    float size = 0.0f;
    int32_t unfit = 0;
    UNROLL for (int j = 0; j < 2; ++j) {
      p[j] = visible[j] ? canon::exp(s[j] - largest) : 0.0f;
      w[j] = visible[j] ? p[j] * value_multiplier[j * warp_lanes + lane] : 0.0f;
      if (!canon::is_finite(w[j])) unfit = 1;
      size = canon::maximum(size, canon::magnitude(w[j]));
    }
    l = canon::fma(l, factor, fold_lanes(p[0] + p[1]));
    m = largest;
    const bool empty = sum_of_lanes(unfit) != 0;
    const int32_t e = canon::block_exponent(empty ? 0.0f : largest_of_lanes(size));
    const float scale = canon::block_scale(e);
    UNROLL for (int j = 0; j < 2; ++j) {
      const int32_t q = empty ? 0 : canon::block_q(w[j], scale);
      const int at = a_unit_at(query, j * warp_lanes + lane);
      shared.weight_high[page][at] = static_cast<uint8_t>(canon::high_byte(q));
      shared.weight_low[page][at] = static_cast<uint8_t>(canon::low_byte(q));
    }
    if (lane == 0) {
      shared.factor[page][query] = factor;
      shared.weight_multiplier[page][query] = empty ? canon::quiet_nan() : canon::block_multiplier(e);
    }
  }
}

// Grid: x spans, y key heads, z tiles of queries.
template <int units>
DEVICE_FUNCTION void attention_span(const AttentionArgs& a) {
  wait_for_inputs();
  let_next_start();
  auto& shared = *reinterpret_cast<AttentionShared<units>*>(shared_memory());
  const int span = block_x(), head = block_y(), heads = a.shape.query_heads / a.shape.key_heads;
  const int dim = a.shape.head_dim, lane = lane_index();
  const QueryTile tile = find_tile(a, block_z(), heads);
  if (tile.sequence < 0) return;
  const Sequence& sequence = a.round.sequence[tile.sequence];
  const int last_pair =
      (tile.first + tile_rows < tile.rows * heads ? tile.first + tile_rows : tile.rows * heads) - 1;
  const int positions = a.round.position[tile.first_row + last_pair / heads] + 1 - span * span_positions;
  if (positions <= 0) return;
  const int pages =
      positions >= span_positions ? span_pages : (positions + page_positions - 1) / page_positions;
  const int32_t* table = a.round.pages + sequence.page_table + span * span_pages;
  load_queries(a, tile, heads, span, shared);
  block_barrier();
  for (int page = 0; page < pages; ++page) {
    score_page(a, kv_head(a.pages, a.shape.key_heads, dim, table[page], head), page, shared);
  }
  // Where a query does not see a page that others do, its weights are zeros with a meaningless factor.
  for (int i = thread_index(); i < span_pages * a_unit_bytes / 16; i += attention_warps * warp_lanes) {
    reinterpret_cast<Quad*>(shared.weight_high)[i] = Quad{};
    reinterpret_cast<Quad*>(shared.weight_low)[i] = Quad{};
  }
  block_barrier();
  for (int query = warp_index(); query < tile_rows; query += attention_warps) {
    if (shared.seen[query] == 0) continue;
    float m, l;
    weigh(a, table, query, shared, m, l);
    const int pair = tile.first + query;
    float* partial =
        a.partial +
        ((static_cast<int64_t>(tile.first_row + pair / heads - a.first_row) * a.shape.query_heads +
          head * heads + pair % heads) *
             a.spans +
         span) *
            (dim + 2);
    if (lane == 0) {
      partial[dim] = m;
      partial[dim + 1] = l;
    }
  }
  block_barrier();
  for (int t = warp_index(); t * tile_columns < dim; t += attention_warps) {
    float o[tile_sums];
    UNROLL for (int i = 0; i < tile_sums; ++i) o[i] = 0.0f;
    for (int page = 0; page < pages; ++page) {
      const KvHead kv = kv_head(a.pages, a.shape.key_heads, dim, table[page], head);
      ByteSums sums;
      sums.clear();
      UNROLL_TILES for (int s = 0; s < 2; ++s) {
        sums.add(tile_a_packed(shared.weight_high[page], lane, s),
                 tile_a_packed(shared.weight_low[page], lane, s),
                 tile_b_packed(kv.value_high + t * b_unit_bytes, lane, s),
                 tile_b_packed(kv.value_low + t * b_unit_bytes, lane, s));
      }
      UNROLL for (int i = 0; i < tile_sums; ++i) {
        const int query = sum_row(lane, i);
        if (page * page_positions < shared.seen[query]) {
          o[i] = canon::fma(o[i], shared.factor[page][query],
                            sums.joined(i) * shared.weight_multiplier[page][query]);
        }
      }
    }
    UNROLL for (int i = 0; i < tile_sums; ++i) {
      const int query = sum_row(lane, i), pair = tile.first + query,
                d = t * tile_columns + sum_column(lane, i);
      if (shared.seen[query] == 0 || d >= dim) continue;
      a.partial[((static_cast<int64_t>(tile.first_row + pair / heads - a.first_row) * a.shape.query_heads +
                  head * heads + pair % heads) *
                     a.spans +
                 span) *
                    (dim + 2) +
                d] = o[i];
    }
  }
}

KERNEL(attention_64, AttentionArgs, 256) { attention_span<1>(a); }
KERNEL(attention_128, AttentionArgs, 256) { attention_span<2>(a); }
KERNEL(attention_256, AttentionArgs, 256) { attention_span<4>(a); }

// Spans in order, then the gate. Grid: x query heads, y rows of the launch; a thread a dimension.
KERNEL(attention_join, AttentionArgs, 256) {
  wait_for_inputs();
  let_next_start();
  const int dim = a.shape.head_dim, d = thread_index();
  if (d >= dim) return;
  const int64_t row = a.first_row + block_y();
  const int64_t block = row * a.shape.query_heads + block_x();
  const float* partial =
      a.partial + (block - static_cast<int64_t>(a.first_row) * a.shape.query_heads) * a.spans * (dim + 2);
  const int spans = a.round.position[row] / span_positions + 1;
  float m = partial[dim], l = partial[dim + 1], o = partial[d];
  for (int span = 1; span < spans; ++span) {
    partial += dim + 2;
    const float largest = canon::maximum(m, partial[dim]);
    const float all = canon::exp(m - largest), one = canon::exp(partial[dim] - largest);
    l = canon::fma(l, all, partial[dim + 1] * one);
    o = canon::fma(o, all, partial[d] * one);
    m = largest;
  }
  a.out[block * dim + d] = (o / l) * canon::sigmoid(a.q_gate[(block * 2 + 1) * dim + d]);
}

}  // namespace lockstep::kernels::gpu
