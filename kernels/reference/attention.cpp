// Full attention over paged keys and values (canon.md, "Full attention").
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/canon/blocks.h"
#include "kernels/canon/fold.h"
#include "kernels/canon/math.h"
#include "kernels/canon/rotary.h"
#include "kernels/reference/reference_device.h"

namespace lockstep::kernels {

namespace {

// A page: key high bytes [64][key_heads][head_dim], key low bytes, value high, value low, then the
// multipliers of keys and of values [64][key_heads] each.
struct Page {
  Page(const KvPages& kv, size_t bytes, int32_t page) : heads(kv.key_heads), dim(kv.head_dim) {
    const ptrdiff_t numbers = static_cast<ptrdiff_t>(page_positions) * heads * dim;
    k_high = static_cast<int8_t*>(kv.data) + static_cast<ptrdiff_t>(bytes) * page;
    k_low = k_high + numbers;
    v_high = k_low + numbers;
    v_low = v_high + numbers;
    k_multiplier = reinterpret_cast<float*>(v_low + numbers);
    v_multiplier = k_multiplier + static_cast<ptrdiff_t>(page_positions) * heads;
  }
  ptrdiff_t block(int slot, int head) const { return static_cast<ptrdiff_t>(slot) * heads + head; }
  ptrdiff_t first(int slot, int head) const { return block(slot, head) * dim; }

  int heads, dim;
  int8_t *k_high, *k_low, *v_high, *v_low;
  float *k_multiplier, *v_multiplier;
};

int32_t page_of(const Round& round, int row, int32_t position) {
  const Sequence& sequence = round.sequence[round.row_sequence[row]];
  return round.pages[sequence.page_table + position / page_positions];
}

// RMS norm of one head, then rotary on its first part.
void prepare_head(const float* x, const float* weight, const AttentionInputs& op, int32_t position,
                  float* out) {
  const int dim = op.shape.head_dim, half = op.shape.rotary_dim / 2;
  const float ss = canon::sum_of_squares(x, dim);
  const float r = canon::inverse_root(ss / static_cast<float>(dim) + op.eps);
  for (int i = 0; i < dim; ++i) out[i] = (x[i] * r) * weight[i];
  for (int i = 0; i < half; ++i) {
    const float angle = canon::rotary_angle(position, op.inv_freq[i]);
    canon::rotate(out[i], out[i + half], canon::cos(angle), canon::sin(angle));
  }
}

// One query head.
struct Query {
  const int8_t *high, *low;  // [head_dim]
  float multiplier, scale;
  int key_head;
};

// F of the query and one key.
float dot(const Query& q, const int8_t* high, const int8_t* low, int dim) {
  int32_t hh = 0, mid = 0, ll = 0;
  for (int d = 0; d < dim; ++d) {
    hh += q.high[d] * high[d];
    mid += q.high[d] * low[d] + q.low[d] * high[d];
    ll += q.low[d] * low[d];
  }
  return canon::join_products(hh, mid, ll);
}

// The running maximum, total and weighted values of a span, or of several joined.
struct Softmax {
  float m, l;
  std::vector<float> o;  // [head_dim]
};

class HeadAttention {
 public:
  explicit HeadAttention(int dim) : dim_(static_cast<size_t>(dim)), hh_(dim_), mid_(dim_), ll_(dim_) {}

  // Takes one page into the span; `visible` of its slots, from the first on, are seen.
  void add_page(const Query& q, const Page& page, int visible, Softmax& span) {
    float s[page_positions], p[page_positions], w[page_positions];
    float largest = span.m;
    for (int j = 0; j < visible; ++j) {
      const ptrdiff_t first = page.first(j, q.key_head);
      const float f = dot(q, page.k_high + first, page.k_low + first, page.dim);
      s[j] = ((f * q.multiplier) * page.k_multiplier[page.block(j, q.key_head)]) * q.scale;
      largest = canon::maximum(largest, s[j]);
    }
    const float a = canon::exp(span.m - largest);
    for (int j = 0; j < page_positions; ++j) {
      p[j] = j < visible ? canon::exp(s[j] - largest) : 0.0f;
      w[j] = j < visible ? p[j] * page.v_multiplier[page.block(j, q.key_head)] : 0.0f;
    }
    // Strand t of 32 takes p_t and p_(t+32): +0 + p_t is p_t.
    span.l = canon::fma(span.l, a, canon::sum(p, page_positions));
    span.m = largest;
    add_values(q, page, w, visible, a, span);
  }

 private:
  void add_values(const Query& q, const Page& page, const float* w, int visible, float a, Softmax& span) {
    int8_t high[page_positions], low[page_positions];
    const float multiplier = canon::make_block(w, page_positions, high, low, nullptr);
    std::fill(hh_.begin(), hh_.end(), 0);
    std::fill(mid_.begin(), mid_.end(), 0);
    std::fill(ll_.begin(), ll_.end(), 0);
    for (int j = 0; j < visible; ++j) {
      const int8_t* v_high = page.v_high + page.first(j, q.key_head);
      const int8_t* v_low = page.v_low + page.first(j, q.key_head);
      for (size_t d = 0; d < dim_; ++d) {
        hh_[d] += high[j] * v_high[d];
        mid_[d] += high[j] * v_low[d] + low[j] * v_high[d];
        ll_[d] += low[j] * v_low[d];
      }
    }
    for (size_t d = 0; d < dim_; ++d) {
      span.o[d] = canon::fma(span.o[d], a, canon::join_products(hh_[d], mid_[d], ll_[d]) * multiplier);
    }
  }

  size_t dim_;
  std::vector<int32_t> hh_, mid_, ll_;
};

void join(Softmax& all, const Softmax& span) {
  const float largest = canon::maximum(all.m, span.m);
  const float a_all = canon::exp(all.m - largest), a_span = canon::exp(span.m - largest);
  all.l = canon::fma(all.l, a_all, span.l * a_span);
  for (size_t d = 0; d < all.o.size(); ++d) {
    all.o[d] = canon::fma(all.o[d], a_all, span.o[d] * a_span);
  }
  all.m = largest;
}

}  // namespace

size_t ReferenceDevice::kv_page_bytes(int key_heads, int head_dim) const {
  return static_cast<size_t>(page_positions) * static_cast<size_t>(key_heads) *
         (4 * static_cast<size_t>(head_dim) + 2 * sizeof(float));
}

void ReferenceDevice::run(const AttentionInputs& op) {
  const AttentionShape& shape = op.shape;
  const int dim = shape.head_dim;
  const size_t page_bytes = kv_page_bytes(shape.key_heads, dim);
  std::vector<float> head(static_cast<size_t>(dim)), queries(static_cast<size_t>(shape.query_heads * dim));
  for (int row = 0; row < op.round.rows; ++row) {
    const int32_t position = op.round.position[row];
    for (int h = 0; h < shape.query_heads; ++h) {
      const float* q = op.q_gate + (static_cast<ptrdiff_t>(row) * shape.query_heads + h) * 2 * dim;
      prepare_head(q, op.q_norm, op, position, &queries[static_cast<size_t>(h * dim)]);
    }
    write_blocks(op.q, row, queries.data());
    const Page page(op.kv, page_bytes, page_of(op.round, row, position));
    const int slot = position % page_positions;
    for (int h = 0; h < shape.key_heads; ++h) {
      const ptrdiff_t input = (static_cast<ptrdiff_t>(row) * shape.key_heads + h) * dim;
      const ptrdiff_t block = page.block(slot, h), first = page.first(slot, h);
      prepare_head(op.k + input, op.k_norm, op, position, head.data());
      page.k_multiplier[block] =
          canon::make_block(head.data(), dim, page.k_high + first, page.k_low + first, nullptr);
      page.v_multiplier[block] =
          canon::make_block(op.v + input, dim, page.v_high + first, page.v_low + first, nullptr);
    }
  }
}

void ReferenceDevice::run(const Attention& op) {
  const AttentionShape& shape = op.shape;
  const int dim = shape.head_dim;
  const size_t page_bytes = kv_page_bytes(shape.key_heads, dim);
  HeadAttention head(dim);
  for (int row = 0; row < op.round.rows; ++row) {
    const int32_t seen = op.round.position[row] + 1;
    const int32_t pages = (seen + page_positions - 1) / page_positions;
    float* out_row = op.out + static_cast<ptrdiff_t>(row) * shape.query_heads * dim;
    for (int h = 0; h < shape.query_heads; ++h) {
      const ptrdiff_t block = static_cast<ptrdiff_t>(row) * shape.query_heads + h;
      const Query q{op.q.high + block * dim, op.q.low + block * dim, op.q.multiplier[block], op.scale,
                    h / (shape.query_heads / shape.key_heads)};
      Softmax all, span;
      for (int32_t p = 0; p < pages; ++p) {
        if (p % span_pages == 0) {
          span.m = -canon::infinity();
          span.l = 0.0f;
          span.o.assign(static_cast<size_t>(dim), 0.0f);
        }
        const Page page(op.kv, page_bytes, page_of(op.round, row, p * page_positions));
        head.add_page(q, page, std::min(page_positions, seen - p * page_positions), span);
        if (p % span_pages != span_pages - 1 && p != pages - 1) continue;
        if (p < span_pages) {
          all = span;
        } else {
          join(all, span);
        }
      }
      const float* gate = op.q_gate + (block * 2 + 1) * dim;
      for (int d = 0; d < dim; ++d) {
        out_row[h * dim + d] = (all.o[static_cast<size_t>(d)] / all.l) * canon::sigmoid(gate[d]);
      }
    }
    if (op.blocks) write_blocks(*op.blocks, row, out_row);
  }
}

void ReferenceDevice::run(const KvRead& op) {
  const int heads = op.kv.key_heads, dim = op.kv.head_dim;
  const size_t page_bytes = kv_page_bytes(heads, dim);
  for (int position = 0; position < op.positions; ++position) {
    const Page page(op.kv, page_bytes, op.pages[position / page_positions]);
    const int slot = position % page_positions;
    const ptrdiff_t to = static_cast<ptrdiff_t>(position) * heads * dim;
    const size_t bytes = static_cast<size_t>(heads) * static_cast<size_t>(dim);
    std::memcpy(op.k_high + to, page.k_high + page.first(slot, 0), bytes);
    std::memcpy(op.k_low + to, page.k_low + page.first(slot, 0), bytes);
    std::memcpy(op.v_high + to, page.v_high + page.first(slot, 0), bytes);
    std::memcpy(op.v_low + to, page.v_low + page.first(slot, 0), bytes);
    for (int h = 0; h < heads; ++h) {
      const ptrdiff_t block = static_cast<ptrdiff_t>(position) * heads + h;
      op.k_multiplier[block] = page.k_multiplier[page.block(slot, h)];
      op.v_multiplier[block] = page.v_multiplier[page.block(slot, h)];
    }
  }
}

}  // namespace lockstep::kernels
