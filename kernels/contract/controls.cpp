#include "kernels/contract/controls.h"

#include <algorithm>
#include <cstring>

#include "kernels/canon/math.h"
#include "kernels/reference/matrix.h"
#include "kernels/reference/reference_device.h"

namespace lockstep::kernels::contract {

namespace {

// All of these run where the reference runs, so device memory can be read here.
template <class T>
std::vector<T> copied(const T* data, ptrdiff_t n) {
  return {data, data + n};
}

float rounded_to_bf16(float x) {
  const uint32_t bits = canon::bits_of(x);
  return canon::is_finite(x) ? canon::float_of((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u) : x;
}

struct SwappedFold : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const Norm& op) override {
    ReferenceDevice::run(op);
    if (!op.out) return;
    for (int row = 0; row < op.rows; ++row) {
      const float* x = op.x + static_cast<ptrdiff_t>(row) * op.length;
      float strand[32] = {};
      for (int i = 0; i < op.length; ++i) strand[i % 32] = canon::fma(x[i], x[i], strand[i % 32]);
      for (int distance = 1; distance < 32; distance *= 2) {  // 1 to 16, where the canon has 16 to 1
        for (int t = 0; t < 32; t += 2 * distance) strand[t] += strand[t + distance];
      }
      const float r = canon::inverse_root(strand[0] / static_cast<float>(op.length) + op.eps);
      for (int i = 0; i < op.length; ++i) {
        op.out[static_cast<ptrdiff_t>(row) * op.out_stride + i] = (x[i] * r) * op.weight[i];
      }
    }
  }
};

struct Bf16Activations : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const Quantize& op) override {
    std::vector<float> x = copied(op.x, static_cast<ptrdiff_t>(op.rows) * op.blocks.length);
    for (float& v : x) v = rounded_to_bf16(v);
    Quantize rounded = op;
    rounded.x = x.data();
    ReferenceDevice::run(rounded);
  }
};

// Products of pairs are added in 16 bits with saturation, as the AVX2 byte instruction does.
struct SaturatingDot : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const Linear& op) override {
    ReferenceDevice::run(op);
    for (const LinearOutput& output : op.outputs) {
      const StoredMatrix& m = static_cast<const ReferenceMatrix&>(*output.matrix).first;
      if (m.group == 0 || op.expert) continue;
      for (int row = 0; row < op.rows; ++row) {
        for (int o = 0; o < m.outputs; ++o) {
          output.y[static_cast<ptrdiff_t>(row) * output.stride + o] =
              saturated(op, m, row / op.rows_per_input, o);
        }
      }
    }
  }
  static int32_t pairs(const uint8_t* codes, const int8_t* bytes, int n) {
    int32_t sum = 0;
    for (int i = 0; i < n; i += 2) {
      sum += std::clamp(codes[i] * bytes[i] + codes[i + 1] * bytes[i + 1], -32768, 32767);
    }
    return sum;
  }
  static float saturated(const Linear& op, const StoredMatrix& m, int row, int o) {
    float y = 0.0f, seg = 0.0f;
    for (int i = 0; i < m.inputs; i += m.group) {
      const ptrdiff_t in = static_cast<ptrdiff_t>(row) * m.inputs + i;
      const size_t at = static_cast<size_t>(o) * static_cast<size_t>(m.inputs) + static_cast<size_t>(i);
      const size_t group = at / static_cast<size_t>(m.group);
      const int32_t d =
          256 * pairs(&m.codes[at], op.in.high + in, m.group) + pairs(&m.codes[at], op.in.low + in, m.group);
      seg = canon::fma(m.scales[group], static_cast<float>(d) * op.in.multiplier[in / m.group], seg);
      seg = canon::fma(m.biases[group], op.in.sum[in / m.group], seg);
      if ((i + m.group) % 256 == 0 || i + m.group == m.inputs) {
        y = i < 256 ? seg : y + seg;
        seg = 0.0f;
      }
    }
    return y;
  }
};

struct NanBecomesZero : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const Linear& op) override {
    ReferenceDevice::run(op);
    for (const LinearOutput& output : op.outputs) {
      for (int row = 0; row < op.rows; ++row) {
        float* y = output.y + static_cast<ptrdiff_t>(row) * output.stride;
        for (int o = 0; o < output.matrix->outputs; ++o) y[o] = canon::is_nan(y[o]) ? 0.0f : y[o];
      }
    }
  }
};

struct SharedExpert : ReferenceDevice {  // every row uses the expert of the round's first row
  using ReferenceDevice::run;
  void run(const Linear& op) override {
    Linear wrong = op;
    std::vector<int32_t> expert;
    if (op.expert) {
      expert.assign(static_cast<size_t>(op.rows), op.expert[0]);
      wrong.expert = expert.data();
    }
    ReferenceDevice::run(wrong);
  }
};

struct Bf16Gate : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const SwiGlu& op) override {
    ReferenceDevice::run(op);
    for (ptrdiff_t i = 0; i < static_cast<ptrdiff_t>(op.rows) * op.gate_up->outputs; ++i) {
      op.out[i] = rounded_to_bf16(op.out[i]);
    }
  }
};

struct SkippedKey : ReferenceDevice {  // a row does not see its own position
  using ReferenceDevice::run;
  void run(const Attention& op) override {
    std::vector<int32_t> position = copied(op.round.position, op.round.rows);
    for (int32_t& p : position) p = std::max(0, p - 1);
    Attention wrong = op;
    wrong.round.position = position.data();
    ReferenceDevice::run(wrong);
  }
};

struct StalePage : ReferenceDevice {  // the second page of every lane is read from where the first is
  using ReferenceDevice::run;
  void run(const Attention& op) override {
    int32_t entries = 0;
    for (int s = 0; s < op.round.sequences; ++s) {
      const Sequence& q = op.round.sequence[s];
      entries =
          std::max(entries, q.page_table + (q.first_position + q.rows + page_positions - 1) / page_positions);
    }
    std::vector<int32_t> pages = copied(op.round.pages, entries);
    for (int s = 0; s < op.round.sequences; ++s) {
      const Sequence& q = op.round.sequence[s];
      const auto first = static_cast<size_t>(q.page_table);
      if (q.first_position + q.rows > page_positions) pages[first + 1] = pages[first];
    }
    Attention wrong = op;
    wrong.round.pages = pages.data();
    ReferenceDevice::run(wrong);
  }
};

struct ShortRotary : ReferenceDevice {  // the last pair is not turned
  using ReferenceDevice::run;
  void run(const AttentionInputs& op) override {
    std::vector<float> inv_freq = copied(op.inv_freq, op.shape.rotary_dim / 2);
    inv_freq.back() = 0.0f;
    AttentionInputs wrong = op;
    wrong.inv_freq = inv_freq.data();
    ReferenceDevice::run(wrong);
  }
};

struct ShortRead : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const KvRead& op) override {
    KvRead wrong = op;
    wrong.positions = op.positions - 1;
    ReferenceDevice::run(wrong);
  }
};

struct UnclearedHistory : ReferenceDevice {  // position 0 reads what the slot held before
  using ReferenceDevice::run;
  void run(const Convolution& op) override {
    std::vector<Sequence> sequences = copied(op.round.sequence, op.round.sequences);
    for (Sequence& s : sequences) s.first_position = std::max(1, s.first_position);
    Convolution wrong = op;
    wrong.round.sequence = sequences.data();
    ReferenceDevice::run(wrong);
  }
};

template <class Op>
struct KeepsEveryRow : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const Op& op) override {
    std::vector<Sequence> sequences = copied(op.round.sequence, op.round.sequences);
    for (Sequence& s : sequences) s.keep = s.rows;
    Op wrong = op;
    wrong.round.sequence = sequences.data();
    ReferenceDevice::run(wrong);
  }
};

// Ties go to the higher index: the row is looked at from its end.
template <class Op>
struct LateTies : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const Op& op) override {
    const int n = choices(op);
    std::vector<float> logits = copied(op.logits, static_cast<ptrdiff_t>(op.rows) * n);
    for (int row = 0; row < op.rows; ++row) {
      std::reverse(logits.begin() + static_cast<ptrdiff_t>(row) * n,
                   logits.begin() + static_cast<ptrdiff_t>(row + 1) * n);
    }
    Op wrong = op;
    wrong.logits = logits.data();
    ReferenceDevice::run(wrong);
    int32_t* index = indices(op);
    for (ptrdiff_t i = 0; i < static_cast<ptrdiff_t>(op.rows) * ranks(op); ++i) index[i] = n - 1 - index[i];
  }
  static int choices(const Router& op) { return op.experts; }
  static int choices(const Candidates& op) { return op.vocabulary; }
  static int ranks(const Router& op) { return op.top; }
  static int ranks(const Candidates& op) { return op.count; }
  static int32_t* indices(const Router& op) { return op.expert; }
  static int32_t* indices(const Candidates& op) { return op.id; }
};

struct SharedExpertFirst : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const CombineExperts& op) override {
    for (int row = 0; row < op.rows; ++row) {
      for (int i = 0; i < op.length; ++i) {
        const ptrdiff_t at = static_cast<ptrdiff_t>(row) * op.length + i;
        float y = canon::sigmoid(op.shared_gate[row]) * op.shared[at];
        for (int rank = 0; rank < op.top; ++rank) {
          const ptrdiff_t routed = static_cast<ptrdiff_t>(row) * op.top + rank;
          y = canon::fma(op.weight[routed], op.routed[routed * op.length + i], y);
        }
        op.out[at] = y;
      }
    }
  }
};

struct WritesPastEnd : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const Gather& op) override {
    ReferenceDevice::run(op);
    op.out[static_cast<ptrdiff_t>(op.rows) * op.length] = 0.0f;
  }
};

struct LastRowLeftOut : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const Gather& op) override {
    Gather wrong = op;
    wrong.rows = op.rows - 1;
    ReferenceDevice::run(wrong);
  }
};

struct UnfusedEmbedding : ReferenceDevice {
  using ReferenceDevice::run;
  void run(const Embed& op) override {
    const StoredMatrix& m = static_cast<const ReferenceMatrix&>(*op.table).first;
    ReferenceDevice::run(op);
    if (m.group == 0) return;
    for (int row = 0; row < op.rows; ++row) {
      for (int i = 0; i < m.inputs; ++i) {
        const size_t at =
            static_cast<size_t>(op.tokens[row]) * static_cast<size_t>(m.inputs) + static_cast<size_t>(i);
        const size_t group = at / static_cast<size_t>(m.group);
        op.out[static_cast<ptrdiff_t>(row) * m.inputs + i] =
            m.scales[group] * static_cast<float>(m.codes[at]) + m.biases[group];
      }
    }
  }
};

struct DependsOnRoundSize : ReferenceDevice {  // large rounds take another order of sums
  using ReferenceDevice::run;
  void run(const CombineExperts& op) override {
    ReferenceDevice::run(op);
    if (op.rows > 4) SharedExpertFirst().run(op);
  }
};

template <class Faulty>
Control control(const char* fault, const char* operation) {
  return {fault, operation, []() -> std::unique_ptr<Device> { return std::make_unique<Faulty>(); }};
}

}  // namespace

std::vector<Control> controls() {
  return {control<UnfusedEmbedding>("scale times code is rounded before the bias", "embed"),
          control<SwappedFold>("strands fold in the opposite order", "norm"),
          control<Bf16Activations>("activations are rounded to bf16", "quantize"),
          control<SaturatingDot>("pairs of products saturate at 16 bits", "linear"),
          control<NanBecomesZero>("NaN becomes 0", "linear"),
          control<SharedExpert>("all rows use the first row's expert", "linear"),
          control<Bf16Gate>("the result is rounded to bf16", "swiglu"),
          control<ShortRotary>("the last rotary pair is not turned", "attention_inputs"),
          control<SkippedKey>("one key is skipped", "attention"),
          control<StalePage>("one page is stale", "attention"),
          control<ShortRead>("the last position is not read", "kv_read"),
          control<UnclearedHistory>("position 0 reads the slot's old state", "convolution"),
          control<KeepsEveryRow<Convolution>>("state is stored though it was to be left", "convolution"),
          control<KeepsEveryRow<ConvolutionReplay>>("replay keeps rejected rows", "convolution_replay"),
          control<KeepsEveryRow<DeltaRule>>("state is stored though it was to be left", "delta_rule"),
          control<KeepsEveryRow<DeltaReplay>>("replay keeps rejected rows", "delta_replay"),
          control<LateTies<Router>>("ties go to the higher index", "router"),
          control<SharedExpertFirst>("the shared expert is added first", "combine_experts"),
          control<DependsOnRoundSize>("large rounds add in another order", "combine_experts"),
          control<WritesPastEnd>("one number is written past the end", "gather"),
          control<LastRowLeftOut>("the last row is not written", "gather"),
          control<LateTies<Candidates>>("ties go to the higher id", "candidates")};
}

}  // namespace lockstep::kernels::contract
