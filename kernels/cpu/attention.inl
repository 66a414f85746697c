// Attention over paged keys and values (canon.md, "Full attention"). Included by attention_*.cpp.
//
// An item is a block of a sequence's rows, one key head with all its query heads, and a run of spans. It
// reads each page once for all its queries. An item with every span of its rows joins them as it goes; where
// contexts are cut into several items each span's result is kept and a second pass joins them in order.
#pragma once

#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/kv_layout.h"
#include "kernels/cpu/row_blocks.inl"
#include "kernels/cpu/scratch.h"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {
namespace {

constexpr int slots = page_positions;

// Calls f<R, V>(row, tile) for rows [first, rows) and all tiles, R rows and V tiles at a time. Rows inside: a
// pair of tiles stays in the first cache while the rows pass.
template <class F>
inline void for_tiles(int first, int rows, int tiles, const F& f) {
  for (int v = 0; v < tiles;) {
    const bool wide = v + column_tile <= tiles;
    int r = first;
    const auto group = [&]<int R>() {
      if (wide) {
        f.template operator()<R, column_tile>(r, v);
      } else {
        f.template operator()<R, 1>(r, v);
      }
      r += R;
    };
    while (rows - r >= row_tile) group.template operator()<row_tile>();
    if constexpr (row_tile > 3) {
      if (rows - r == 5) group.template operator()<5>();
      if (rows - r == 4) group.template operator()<4>();
      if (rows - r == 3) group.template operator()<3>();
    }
    if (rows - r == 2) group.template operator()<2>();
    if (rows - r == 1) group.template operator()<1>();
    v += wide ? column_tile : 1;
  }
}

// What the steps of the dot products of a page fetch ahead: the numbers from `next` on, spread over the tiles
// of the first group of rows.
struct Ahead {
  Ahead(const int16_t* next, const void* idle_line, int first_row, int k)
      : start(reinterpret_cast<const char*>(next)),
        idle(static_cast<const char*>(idle_line)),
        first(first_row),
        tile_bytes(int64_t{64} * ahead_lines * (k / step) / column_tile) {}
  bool wanted(int row) const { return start && row == first; }
  const char* at(int row, int tile) const { return wanted(row) ? start + tile * tile_bytes : idle; }
  int64_t step_bytes(int row) const { return wanted(row) ? 64 * ahead_lines : 0; }

  const char *start, *idle;
  int first;
  int64_t tile_bytes;
};

// Running maximum, total and weighted values of queries: [queries], [queries], [queries][head_dim].
struct Softmax {
  float *m, *l, *o;
};

// What one task works in.
struct Work {
  Work(int queries, int dim, Carver memory)
      : key_high(memory.take<TileHigh>(static_cast<size_t>(slots * dim))),
        value_high(memory.take<TileHigh>(static_cast<size_t>(slots * dim))),
        q(memory.take<uint8_t>(static_cast<size_t>(queries * row_bytes(dim)))),
        w(memory.take<uint8_t>(static_cast<size_t>(queries * row_bytes(slots)))),
        q_start(memory.take<int32_t>(static_cast<size_t>(queries))),
        w_start(memory.take<int32_t>(static_cast<size_t>(queries))),
        q_multiplier(memory.take<float>(static_cast<size_t>(queries))),
        w_multiplier(memory.take<float>(static_cast<size_t>(queries))),
        scores(memory.take<float>(static_cast<size_t>(queries * slots))),
        rescale(memory.take<float>(static_cast<size_t>(queries))),
        seen(memory.take<int32_t>(static_cast<size_t>(queries))),
        top(memory.take<int32_t>(static_cast<size_t>(queries))),
        span(take_softmax(memory, queries, dim)),
        all(take_softmax(memory, queries, dim)) {}

  static Softmax take_softmax(Carver& memory, int queries, int dim) {
    const auto n = static_cast<size_t>(queries);
    float* m = memory.take<float>(n);
    float* l = memory.take<float>(n);
    return {m, l, memory.take<float>(n * static_cast<size_t>(dim))};
  }
  static size_t bytes(int queries, int dim) {
    const auto n = static_cast<size_t>(queries), d = static_cast<size_t>(dim);
    return 2 * padded<TileHigh>(slots * d) + padded<uint8_t>(static_cast<size_t>(queries * row_bytes(dim))) +
           padded<uint8_t>(static_cast<size_t>(queries * row_bytes(slots))) + 4 * padded<int32_t>(n) +
           padded<float>(n * slots) + 3 * padded<float>(n) +
           2 * (2 * padded<float>(n) + padded<float>(n * d));
  }

  TileHigh *key_high, *value_high;
  uint8_t *q, *w;  // [queries][row_bytes(head_dim)], [queries][row_bytes(64)]: rows for dot_tiles
  int32_t *q_start, *w_start;
  float *q_multiplier, *w_multiplier;
  float* scores;   // [queries][64]
  float* rescale;  // [queries]: what earlier pages of the span are multiplied by
  int32_t* seen;   // [queries]: positions that the query sees
  int32_t* top;    // [queries]: bits of a page's largest weight
  Softmax span, all;
};

// Queries of the item's rows, [row][query head of the key head].
void load_queries(const Attention& op, const AttentionItem& item, Work& work) {
  const int dim = op.shape.head_dim, share = op.shape.query_heads / op.shape.key_heads;
  for (int i = 0; i < item.rows * share; ++i) {
    const int row = item.first_row + i / share, head = item.head * share + i % share;
    const ptrdiff_t block = static_cast<ptrdiff_t>(row) * op.shape.query_heads + head;
    Ints high = broadcast(int32_t{0});
    for (int d = 0; d < dim; d += lanes) {
      const Ints h = load_bytes(op.q.high + block * dim + d), l = load_bytes(op.q.low + block * dim + d);
      high = high + store_row_part(work.q + i * row_bytes(dim), d, shift_left<8>(h) + l);
    }
    work.q_start[i] = row_start(high);
    work.q_multiplier[i] = op.q.multiplier[block];
    work.seen[i] = op.round.position[row] + 1;
  }
}

// scores[query][slot] of a page for queries [first, queries); `used` slots hold a position that someone sees.
void score_page(const Attention& op, const KvHead& page, int first, int queries, int used, Work& work) {
  const int dim = op.shape.head_dim, tiles = (used + lanes - 1) / lanes, stride = lanes * dim;
  make_tile_high(page.keys, work.key_high, tiles * stride);
  const Floats scale = broadcast(op.scale);
  const Ahead ahead(page.values, page.keys, first, dim);
  for_tiles(first, queries, tiles, [&]<int R, int V>(int row, int tile) {
    dot_tiles<R, V>(
        page.keys + tile * stride, work.key_high + tile * stride, stride, dim, work.q + row * row_bytes(dim),
        row_bytes(dim), work.q_start + row, ahead.at(row, tile),
        ahead.step_bytes(row), [&](int r, int v, Floats f) __attribute__((always_inline)) {
          const int slot = (tile + v) * lanes;
          const Floats s =
              (f * broadcast(work.q_multiplier[row + r])) * load(page.key_multiplier + slot) * scale;
          store(work.scores + (row + r) * slots + slot, s);
        });
  });
}

// Lane j of vector v of a page is seen.
inline Mask seen_lanes(int visible, int v) {
  return first_lanes(visible > v * lanes ? visible - v * lanes : 0);
}
constexpr int page_vectors = slots / lanes;

// The new maximum of query i's span.
float page_maximum(const Work& work, int i, int visible) {
  const Floats none = broadcast(-canon::infinity());
  Floats most = broadcast(work.span.m[i]);
  for (int v = 0; v < page_vectors && v * lanes < visible; ++v) {
    most = larger(select(seen_lanes(visible, v), load(work.scores + i * slots + v * lanes), none), most);
  }
  return largest(most);
}

// Scores of query i become w = p * the value's multiplier. Returns the largest magnitude among them, as its
// bits.
int32_t weigh_query(const float* value_multiplier, int i, int visible, Work& work) {
  const Floats zero = broadcast(0.0f), m = broadcast(work.span.m[i]);
  float* s = work.scores + i * slots;
  Floats p[page_vectors];
  Ints top = broadcast(int32_t{0});
  for (int v = 0; v < page_vectors; ++v) {
    p[v] = zero;
    Floats w = zero;
    if (v * lanes < visible) {
      const Mask seen = seen_lanes(visible, v);
      p[v] = exp(load(s + v * lanes) - m);
      w = select(seen, p[v] * load(value_multiplier + v * lanes), zero);
      p[v] = select(seen, p[v], zero);
    }
    store(s + v * lanes, w);
    top = larger(top, bits_of(magnitude(w)));
  }
  work.span.l[i] = canon::fma(work.span.l[i], work.rescale[i], fold(p[0] + p[2], p[1] + p[3]));
  return largest(top);
}

// w of query i as a row for dot_tiles; block_scale is 0 for a void block.
void quantize_weights(int i, float block_scale, Work& work) {
  const Floats scale = broadcast(block_scale);
  Ints high = broadcast(int32_t{0});
  for (int v = 0; v < page_vectors; ++v) {
    const Floats w = load(work.scores + i * slots + v * lanes);
    const Ints q = block_scale > 0.0f ? to_ints(w * scale) : broadcast(int32_t{0});
    high = high + store_row_part(work.w + i * row_bytes(slots), v * lanes, q);
  }
  work.w_start[i] = row_start(high);
}

// From the scores of a page for queries [first, queries): the weights of its values as blocks, and each
// span's new m and l. In steps over all queries, so that the chains of one query hide behind those of others.
void weigh_page(const float* value_multiplier, int page, int first, int queries, Work& work) {
  const auto visible = [&](int i) {
    const int left = work.seen[i] - page * slots;
    return left < slots ? left : slots;
  };
  for (int i = first; i < queries; ++i) {
    const float before = work.span.m[i];
    work.span.m[i] = page_maximum(work, i, visible(i));
    work.rescale[i] = before - work.span.m[i];
  }
  for (int i = first; i < queries; i += lanes) {
    store(work.rescale + i, exp(load(work.rescale + i, queries - i)), queries - i);
  }
  for (int i = first; i < queries; ++i) work.top[i] = weigh_query(value_multiplier, i, visible(i), work);
  for (int i = first; i < queries; ++i) {
    const bool finite = work.top[i] <= 0x7f7fffff;
    const int32_t e = canon::block_exponent(canon::float_of(static_cast<uint32_t>(finite ? work.top[i] : 0)));
    work.w_multiplier[i] = finite ? canon::block_multiplier(e) : canon::quiet_nan();
    quantize_weights(i, finite ? canon::block_scale(e) : 0.0f, work);
  }
}

// o = fma(o, a, F * multiplier) for queries [first, queries).
// next_keys: of the page that comes next, or null.
void add_values(const Attention& op, const KvHead& page, const int16_t* next_keys, int first, int queries,
                int used, Work& work) {
  const int dim = op.shape.head_dim, stride = lanes * slots, k = (used + 3) / 4 * 4;
  for (int d = 0; d < dim; d += lanes) {
    make_tile_high(page.values + d * slots, work.value_high + d * slots, k * lanes);
  }
  const Ahead ahead(next_keys, page.values, first, k);
  for_tiles(first, queries, dim / lanes, [&]<int R, int V>(int row, int tile) {
    dot_tiles<R, V>(
        page.values + tile * stride, work.value_high + tile * stride, stride, k,
        work.w + row * row_bytes(slots), row_bytes(slots), work.w_start + row, ahead.at(row, tile),
        ahead.step_bytes(row), [&](int r, int v, Floats f) __attribute__((always_inline)) {
          float* o = work.span.o + (row + r) * dim + (tile + v) * lanes;
          store(o, fma(load(o), broadcast(work.rescale[row + r]), f * broadcast(work.w_multiplier[row + r])));
        });
  });
}

// Takes the span of query i into `all`, or makes it `all` when it is the first.
void join(float* all_m, float* all_l, float* all_o, float m, float l, const float* o, int dim, bool first) {
  if (first) {
    *all_m = m;
    *all_l = l;
    for (int d = 0; d < dim; d += lanes) store(all_o + d, load(o + d));
    return;
  }
  const float most = canon::maximum(*all_m, m);
  const float a_all = canon::exp(*all_m - most), a = canon::exp(m - most);
  *all_l = canon::fma(*all_l, a_all, l * a);
  *all_m = most;
  const Floats x = broadcast(a_all), y = broadcast(a);
  for (int d = 0; d < dim; d += lanes) store(all_o + d, fma(load(all_o + d), x, load(o + d) * y));
}

// (O/L) * sigmoid(gate) of one query head.
void finish_query(const Attention& op, int row, int head, float l, const float* o) {
  const int dim = op.shape.head_dim;
  const ptrdiff_t block = static_cast<ptrdiff_t>(row) * op.shape.query_heads + head;
  const float* gate = op.q_gate + (block * 2 + 1) * dim;
  const Floats all = broadcast(l);
  for (int d = 0; d < dim; d += lanes) {
    store(op.out + block * dim + d, (load(o + d) / all) * sigmoid(load(gate + d)));
  }
}

// Blocks of the row's outputs that belong to one key head, where whole blocks do.
bool blocks_fit_head(const Attention& op) {
  return op.blocks && (op.shape.query_heads / op.shape.key_heads * op.shape.head_dim) % op.blocks->group == 0;
}
void finish_blocks(const Attention& op, int row, int head) {
  if (!blocks_fit_head(op)) return;
  const int length = op.shape.query_heads / op.shape.key_heads * op.shape.head_dim;
  write_blocks(*op.blocks, row, head * length, length,
               op.out + static_cast<ptrdiff_t>(row) * op.blocks->length);
}

void run_span(const Attention& op, const AttentionItem& item, int span, int first, int queries, Work& work) {
  const int dim = op.shape.head_dim;
  for (int i = first; i < queries; ++i) {
    work.span.m[i] = -canon::infinity();
    work.span.l[i] = 0.0f;
  }
  for (int i = first * dim; i < queries * dim; i += lanes) store(work.span.o + i, broadcast(0.0f));
  const int last_seen = work.seen[queries - 1];
  for (int page = span * span_pages; page < (span + 1) * span_pages && page * slots < last_seen; ++page) {
    while (work.seen[first] <= page * slots) ++first;
    const int used = last_seen - page * slots < slots ? last_seen - page * slots : slots;
    const KvHead kv = kv_head(op.kv, item.pages[page], item.head);
    score_page(op, kv, first, queries, used, work);
    weigh_page(kv.value_multiplier, page, first, queries, work);
    const bool more = (page + 1) * slots < last_seen && page + 1 < item.end_span * span_pages;
    add_values(op, kv, more ? kv_head(op.kv, item.pages[page + 1], item.head).keys : nullptr, first, queries,
               used, work);
  }
}

void run_item(const Attention& op, const AttentionPlan& plan, const AttentionItem& item) {
  const int dim = op.shape.head_dim, share = op.shape.query_heads / op.shape.key_heads;
  const int queries = item.rows * share;
  Work work(queries, dim, Carver(task_scratch(Work::bytes(queries, dim))));
  load_queries(op, item, work);
  int first = 0;
  for (int span = item.first_span; span < item.end_span; ++span) {
    while (work.seen[first] <= span * span_pages * slots) ++first;
    run_span(op, item, span, first, queries, work);
    for (int i = first; i < queries; ++i) {
      const float* o = work.span.o + i * dim;
      if (item.whole) {
        join(work.all.m + i, work.all.l + i, work.all.o + i * dim, work.span.m[i], work.span.l[i], o, dim,
             span == 0);
        continue;
      }
      float* kept = plan.kept(item.first_row + i / share, item.head * share + i % share, span);
      for (int d = 0; d < dim; d += lanes) store(kept + d, load(o + d));
      kept[dim] = work.span.m[i];
      kept[dim + 1] = work.span.l[i];
    }
  }
  if (!item.whole) return;
  for (int i = 0; i < queries; ++i) {
    finish_query(op, item.first_row + i / share, item.head * share + i % share, work.all.l[i],
                 work.all.o + i * dim);
  }
  for (int r = 0; r < item.rows; ++r) finish_blocks(op, item.first_row + r, item.head);
}

// Joins the kept spans of a row's query heads that share a key head.
void join_kept(const Attention& op, const AttentionPlan& plan, int row, int key_head) {
  const int dim = op.shape.head_dim, share = op.shape.query_heads / op.shape.key_heads;
  const int spans = op.round.position[row] / (span_pages * slots) + 1;
  float o[most_head_dim];
  for (int head = key_head * share; head < (key_head + 1) * share; ++head) {
    float m = 0.0f, l = 0.0f;
    for (int span = 0; span < spans; ++span) {
      const float* kept = plan.kept(row, head, span);
      join(&m, &l, o, kept[dim], kept[dim + 1], kept, dim, span == 0);
    }
    finish_query(op, row, head, l, o);
  }
  finish_blocks(op, row, key_head);
}

}  // namespace

void attention(const Attention& op, Pool& pool) {
  const AttentionPlan plan = plan_attention(op.round, op.shape, pool.threads());
  for_tasks(pool, plan.items, plan.small, [&](int i) { run_item(op, plan, plan.item[i]); });
  if (plan.cut_rows > 0) {
    const int heads = op.shape.key_heads;
    for_tasks(pool, plan.cut_rows * heads, false,
              [&](int i) { join_kept(op, plan, plan.cut_row[i / heads], i % heads); });
  }
  if (op.blocks && !blocks_fit_head(op)) {
    for_tasks(pool, op.round.rows, plan.small, [&](int row) {
      write_blocks(*op.blocks, row, 0, op.blocks->length,
                   op.out + static_cast<ptrdiff_t>(row) * op.blocks->length);
    });
  }
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
