// The gated delta rule (canon.md, "Gated delta rule"), token by token. Included by delta_*.cpp.
//
// A task is a sequence, a value head and some of its column tiles. Columns of a state never meet before the
// norm of the output, so a tile of S stays in the first cache over many rows. Between two rows one pass does
// both the update and output of the earlier and the decay and first product of the later.
#pragma once

#include "kernels/cpu/limits.h"
#include "kernels/cpu/row_blocks.inl"
#include "kernels/cpu/scratch.h"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {
namespace {

constexpr int delta_rows = 32;  // whose keys, queries, decays and betas are made at a time

// Where the parts of one row of one value head are.
struct HeadRow {
  HeadRow(const DeltaShape& s, const float* qkv, int row, int head) {
    const int64_t keys = static_cast<int64_t>(s.key_heads) * s.key_dim;
    const float* channels = qkv + row * (2 * keys + static_cast<int64_t>(s.value_heads) * s.value_dim);
    q = channels + static_cast<int64_t>(head / (s.value_heads / s.key_heads)) * s.key_dim;
    k = q + keys;
    v = channels + 2 * keys + static_cast<int64_t>(head) * s.value_dim;
    at = static_cast<int64_t>(row) * s.value_heads + head;
  }
  const float *q, *k, *v;
  int64_t at;  // index into [rows][value_heads]
};

// x * 1/sqrt(ss + 1e-6), and that times `scale` when it is given.
void l2_normalize(const float* x, int n, const float* scale, float* out) {
  const Floats r = broadcast(canon::inverse_root(sum_of_squares(x, n) + 1e-6f));
  for (int i = 0; i < n; i += lanes) {
    Floats y = load_within(x, i, n) * r;
    if (scale) y = y * broadcast(*scale);
    store(out + i, y);
  }
}

// exp(-(exp(a_log) * softplus(a + dt_bias))) of up to delta_rows rows; a is [rows][value_heads] from its row
// on.
void make_decays(const float* a, int stride, int rows, float a_log, float dt_bias, float* decay) {
  const Floats rate = broadcast(canon::exp(a_log));
  for (int t = 0; t < rows; t += lanes) {
    float x[lanes] = {};
    for (int i = 0; i < lanes && t + i < rows; ++i) x[i] = a[static_cast<int64_t>(t + i) * stride];
    store(decay + t, exp(-(rate * softplus(load(x) + broadcast(dt_bias)))));
  }
}
void make_betas(const float* b, int stride, int rows, float* beta) {
  for (int t = 0; t < rows; t += lanes) {
    float x[lanes] = {};
    for (int i = 0; i < lanes && t + i < rows; ++i) x[i] = b[static_cast<int64_t>(t + i) * stride];
    store(beta + t, sigmoid(load(x)));
  }
}

int whole_lanes(int n) { return (n + lanes - 1) / lanes * lanes; }

// The rows that are prepared: keys and queries are `stride` numbers apart.
struct Prepared {
  float *k, *q, *decay, *beta;
  int stride;
};

void prepare_rows(const DeltaRule& op, int head, int first_row, int rows, float q_scale, const Prepared& to) {
  const int heads = op.shape.value_heads, dk = op.shape.key_dim;
  for (int t = 0; t < rows; ++t) {
    const HeadRow row(op.shape, op.qkv, first_row + t, head);
    if (t + 4 < rows) {  // rows lie far apart: no hardware prefetch
      const HeadRow later(op.shape, op.qkv, first_row + t + 4, head);
      prefetch(later.k, dk);
      prefetch(later.q, dk);
    }
    prefetch(row.v, op.shape.value_dim);
    l2_normalize(row.k, dk, nullptr, to.k + t * to.stride);
    l2_normalize(row.q, dk, &q_scale, to.q + t * to.stride);
  }
  const int64_t at = static_cast<int64_t>(first_row) * heads + head;
  make_decays(op.a + at, heads, rows, op.a_log[head], op.dt_bias[head], to.decay);
  make_betas(op.b + at, heads, rows, to.beta);
}

// Rows of a tile of S: numbers from `at`, `stride` between two rows.
struct Tile {
  float* at;
  int64_t stride;
};

// What a pass over a tile does: S = S * factor and d = dot(S, next_k) (`decay`), after S = fma(k, u, S) and
// o = dot(S, q) (`update`). A row that is alone decays S in both its passes and stores it in the second
// (`again`).
enum Steps { decay = 1, update = 2, again = 4, stored = 8 };

// One pass over a tile S[dk][16*V] from `from` to `to`.
template <int V, int steps>
inline void pass(const Tile from, const Tile to, int dk, const float* k, const Floats* u, const float* q,
                 Floats* o, float factor, const float* next_k, Floats* d) {
  const Floats zero = broadcast(0.0f), scale = broadcast(factor);
  Floats sum_o[V], sum_d[V], half_o[V], half_d[V];  // of a strand; of strands 0 and 1
  each<4>([&](auto strand) __attribute__((always_inline)) {
    Floats so[V], sd[V];
    each<V>([&](auto v) __attribute__((always_inline)) { so[v] = sd[v] = zero; });
    for (int i = strand; i < dk; i += 4) {
      const float* row = from.at + i * from.stride;
      float* out = steps & stored ? to.at + i * to.stride : nullptr;
      // Read before anything is stored, or the compiler would read them again after each store.
      const Floats ki = broadcast(steps & update ? k[i] : 0.0f), qi = broadcast(steps & update ? q[i] : 0.0f);
      const Floats next = broadcast(steps & decay ? next_k[i] : 0.0f);
      each<V>([&](auto v) __attribute__((always_inline)) {
        Floats s = load(row + v * lanes);
        if constexpr (steps & again) s = s * scale;
        if constexpr (steps & update) {
          s = fma(ki, u[v], s);
          so[v] = fma(s, qi, so[v]);
        }
        if constexpr (steps & decay) {
          s = s * scale;
          sd[v] = fma(s, next, sd[v]);
        }
        if constexpr (steps & stored) store(out + v * lanes, s);
      });
    }
    each<V>([&](auto v) __attribute__((always_inline)) {
      if constexpr (strand == 1) {
        half_o[v] = sum_o[v] + so[v];
        half_d[v] = sum_d[v] + sd[v];
      } else if constexpr (strand == 3) {
        if constexpr (steps & update) o[v] = half_o[v] + (sum_o[v] + so[v]);
        if constexpr (steps & decay) d[v] = half_d[v] + (sum_d[v] + sd[v]);
      } else {
        sum_o[v] = so[v];
        sum_d[v] = sd[v];
      }
    });
  });
}

// Prepared rows [0, rows) of one tile, columns from `column` on. S comes from `from`, is worked on in `work`,
// and goes to `to`, or nowhere when to.at is null.
template <int V>
void run_rows(const DeltaRule& op, int head, int first_row, int rows, int column, const Prepared& ready,
              Tile from, Tile work, Tile to) {
  const int dk = op.shape.key_dim, dv = op.shape.value_dim;
  Floats u[V], o[V], d[V];
  if (rows == 1) {
    pass<V, decay>(from, from, dk, nullptr, nullptr, nullptr, nullptr, ready.decay[0], ready.k, d);
  } else {
    pass<V, decay | stored>(from, work, dk, nullptr, nullptr, nullptr, nullptr, ready.decay[0], ready.k, d);
  }
  for (int t = 0; t < rows; ++t) {
    const HeadRow row(op.shape, op.qkv, first_row + t, head);
    const Floats beta = broadcast(ready.beta[t]);
    for (int v = 0; v < V; ++v) {
      u[v] = beta * (load(row.v + column + v * lanes) - d[v]);
      if (op.update) store(op.update + row.at * dv + column + v * lanes, u[v]);
    }
    const float *k = ready.k + t * ready.stride, *q = ready.q + t * ready.stride;
    if (t + 1 < rows) {
      pass<V, update | decay | stored>(work, work, dk, k, u, q, o, ready.decay[t + 1], k + ready.stride, d);
    } else if (rows == 1 && to.at) {
      pass<V, again | update | stored>(from, to, dk, k, u, q, o, ready.decay[0], nullptr, nullptr);
    } else if (rows == 1) {
      pass<V, again | update>(from, to, dk, k, u, q, o, ready.decay[0], nullptr, nullptr);
    } else if (to.at) {
      pass<V, update | stored>(work, to, dk, k, u, q, o, 0.0f, nullptr, nullptr);
    } else {
      pass<V, update>(work, to, dk, k, u, q, o, 0.0f, nullptr, nullptr);
    }
    for (int v = 0; v < V; ++v) store(op.out + row.at * dv + column + v * lanes, o[v]);
  }
}

// ((o * r) * norm) * silu(z) of one row of a head, in place; and its blocks, where whole ones are in a head.
void finish_row(const DeltaRule& op, int row, int head) {
  const int dv = op.shape.value_dim;
  const int64_t at = (static_cast<int64_t>(row) * op.shape.value_heads + head) * dv;
  float* o = op.out + at;
  const Floats r = broadcast(canon::inverse_root(sum_of_squares(o, dv) / static_cast<float>(dv) + op.eps));
  for (int j = 0; j < dv; j += lanes) {
    store(o + j, ((load(o + j) * r) * load(op.norm + j)) * silu(load(op.z + at + j)));
  }
  if (op.blocks && dv % op.blocks->group == 0) {
    write_blocks(*op.blocks, row, head * dv, dv, op.out + static_cast<int64_t>(row) * op.blocks->length);
  }
}

void prefetch_finish(const DeltaRule& op, int row, int head) {
  const int64_t at = (static_cast<int64_t>(row) * op.shape.value_heads + head) * op.shape.value_dim;
  prefetch(op.out + at, op.shape.value_dim);
  prefetch(op.z + at, op.shape.value_dim);
}

// Tiles [first_tile, end_tile) of one value head of a sequence, all rows, but for the norm.
template <int V>
void run_tiles(const DeltaRule& op, const Sequence& sequence, int head, int first_tile, int end_tile) {
  const int dk = op.shape.key_dim, dv = op.shape.value_dim, width = V * lanes, tiles = end_tile - first_tile;
  const float q_scale = static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(dk)));
  const auto row_numbers = static_cast<size_t>(delta_rows * whole_lanes(dk)),
             tile_numbers = static_cast<size_t>(dk * width), all = tile_numbers * static_cast<size_t>(tiles);
  Carver memory(
      task_scratch(2 * padded<float>(row_numbers) + 2 * padded<float>(delta_rows) + padded<float>(all)));
  float* k = memory.take<float>(row_numbers);
  float* q = memory.take<float>(row_numbers);
  float* decay = memory.take<float>(delta_rows);
  float* beta = memory.take<float>(delta_rows);
  float* work = memory.take<float>(all);
  const Prepared ready{k, q, decay, beta, whole_lanes(dk)};
  float* state =
      op.state + (static_cast<int64_t>(sequence.state_slot) * op.shape.value_heads + head) * dk * dv;
  const bool empty = sequence.first_position == 0;
  for (size_t i = 0; empty && i < all; i += lanes) store(work + i, broadcast(0.0f));
  for (int t = 0; t < sequence.rows; t += delta_rows) {
    const int rows = sequence.rows - t < delta_rows ? sequence.rows - t : delta_rows;
    const bool last = t + rows == sequence.rows;
    prepare_rows(op, head, sequence.first_row + t, rows, q_scale, ready);
    for (int tile = first_tile; tile < end_tile; ++tile) {
      const Tile here{work + (tile - first_tile) * static_cast<int64_t>(tile_numbers), width};
      const Tile slot{state + tile * width, dv};
      const Tile to = !last ? here : sequence.keep > 0 ? slot : Tile{nullptr, 0};
      run_rows<V>(op, head, sequence.first_row + t, rows, tile * width, ready, t == 0 && !empty ? slot : here,
                  here, to);
    }
  }
}

#ifdef __AVX512F__
constexpr int widest_tile = 4;  // 64 columns of 128 keys: 32 KiB
#else
constexpr int widest_tile = 2;
#endif

template <int V>
void run_delta(const DeltaRule& op, Pool& pool) {
  const int heads = op.shape.value_heads, tiles = op.shape.value_dim / (V * lanes);
  const int64_t numbers = static_cast<int64_t>(op.round.rows) * heads * op.shape.key_dim * op.shape.value_dim;
  const int whole = op.round.sequences * heads;
  const int parts = whole >= 2 * pool.threads() || pool.threads() == 1 ? 1 : tiles;
  // Parts of a head that are not done; the thread that does the last also does the norm.
  auto* open = static_cast<int*>(call_scratch(padded<int>(static_cast<size_t>(whole))));
  for (int i = 0; i < whole; ++i) open[i] = parts;
  for_tasks(pool, whole * parts, numbers < 2 * small_work, [&](int task) {
    const int item = task / parts, part = task % parts, head = item % heads;
    const Sequence& sequence = op.round.sequence[item / heads];
    run_tiles<V>(op, sequence, head, tiles * part / parts, tiles * (part + 1) / parts);
    if (__atomic_sub_fetch(&open[item], 1, __ATOMIC_ACQ_REL) > 0) return;
    for (int t = 0; t < sequence.rows; ++t) {
      if (t + 4 < sequence.rows) prefetch_finish(op, sequence.first_row + t + 4, head);
      finish_row(op, sequence.first_row + t, head);
    }
  });
}

// S = fma(k, u, S * decay) for rows of a sequence, on all columns.
void replay_head(const DeltaReplay& op, const Sequence& sequence, int head) {
  const int dk = op.shape.key_dim, dv = op.shape.value_dim, stride = whole_lanes(dk);
  const auto numbers = static_cast<size_t>(delta_rows * stride);
  Carver memory(task_scratch(padded<float>(numbers) + padded<float>(delta_rows)));
  float* k = memory.take<float>(numbers);
  float* decay = memory.take<float>(delta_rows);
  float* state =
      op.state + (static_cast<int64_t>(sequence.state_slot) * op.shape.value_heads + head) * dk * dv;
  for (int first = 0; first < sequence.keep; first += delta_rows) {
    const int rows = sequence.keep - first < delta_rows ? sequence.keep - first : delta_rows;
    const bool empty = first == 0 && sequence.first_position == 0;
    for (int t = 0; t < rows; ++t) {
      l2_normalize(HeadRow(op.shape, op.qkv, sequence.first_row + first + t, head).k, dk, nullptr,
                   k + t * stride);
    }
    const int64_t at = static_cast<int64_t>(sequence.first_row + first) * op.shape.value_heads + head;
    make_decays(op.a + at, op.shape.value_heads, rows, op.a_log[head], op.dt_bias[head], decay);
    for (int i = 0; i < dk; ++i) {
      prefetch(state + (i + 4) * dv, dv);
      for (int j = 0; j < dv; j += lanes) {
        Floats s = empty ? broadcast(0.0f) : load(state + i * dv + j);
        for (int t = 0; t < rows; ++t) {
          const float* u = op.update + (at + static_cast<int64_t>(t) * op.shape.value_heads) * dv;
          s = fma(broadcast(k[t * stride + i]), load(u + j), s * broadcast(decay[t]));
        }
        store(state + i * dv + j, s);
      }
    }
  }
}

}  // namespace

void delta_rule(const DeltaRule& op, Pool& pool) {
  check_delta_shape(op.shape);
  const int columns = op.shape.value_dim / lanes;
  if (columns % widest_tile == 0) {
    run_delta<widest_tile>(op, pool);
  } else if (columns % 2 == 0) {
    run_delta<2>(op, pool);
  } else {
    run_delta<1>(op, pool);
  }
  if (!op.blocks || op.shape.value_dim % op.blocks->group == 0) return;
  const bool small = static_cast<int64_t>(op.round.rows) * op.blocks->length < small_work;
  for_tasks(pool, op.round.rows, small, [&](int row) {
    write_blocks(*op.blocks, row, 0, op.blocks->length,
                 op.out + static_cast<int64_t>(row) * op.blocks->length);
  });
}

void delta_replay(const DeltaReplay& op, Pool& pool) {
  check_delta_shape(op.shape);
  const int heads = op.shape.value_heads;
  const int64_t numbers =
      static_cast<int64_t>(op.round.sequences) * heads * op.shape.key_dim * op.shape.value_dim;
  for_tasks(pool, op.round.sequences * heads, numbers < 2 * small_work,
            [&](int task) { replay_head(op, op.round.sequence[task / heads], task % heads); });
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
