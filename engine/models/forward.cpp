#include "engine/models/forward.h"

#include <algorithm>
#include <cmath>

#include "engine/models/forward_scratch.h"

namespace lockstep::engine {

using namespace kernels;

namespace {

constexpr size_t sequence_words = sizeof(Sequence) / sizeof(int32_t);

// Makes arrays of a scratch and adds up their bytes.
struct Maker {
  Device& device;
  uint64_t bytes = 0;
  template <class T>
  void operator()(DeviceArray<T>& array, size_t count) {
    array = DeviceArray<T>(device, count);
    device.prepare(array.data(), array.bytes());
    bytes += array.bytes();
  }
  void operator()(Rows& rows, int count, int length) {
    rows = Rows(device, count, length, {32, 64, 128});
    bytes += rows.bytes();
  }
};

}  // namespace

void Batch::add(std::span<const int32_t> lane_tokens, int first_position, std::span<const int32_t> page_table,
                int slot, int drafts) {
  const int count = static_cast<int>(lane_tokens.size());
  sequences.push_back(
      {rows(), count, first_position, static_cast<int32_t>(pages.size()), slot, drafts ? 0 : count});
  for (int i = 0; i < count; ++i) {
    tokens.push_back(lane_tokens[i]);
    positions.push_back(first_position + i);
    row_sequence.push_back(static_cast<int32_t>(sequences.size()) - 1);
  }
  pages.insert(pages.end(), page_table.begin(), page_table.end());
}

Forward::Forward(Device& device, const ModelConfig& config, const Weights& weights, const Capacity& capacity)
    : device_(device),
      config_(config),
      weights_(weights),
      capacity_(capacity),
      attention_{config.query_heads, config.key_heads, config.head_dim, config.rotary_dim},
      delta_{config.delta_key_heads, config.delta_value_heads, config.delta_key_dim, config.delta_value_dim,
             config.conv_taps},
      scratch_(std::make_unique<Scratch>()) {
  Scratch& s = *scratch_;
  Maker make{device};
  const size_t rows = capacity.rows, lanes = capacity.lanes;
  const int values = delta_.value_heads * delta_.value_dim,
            heads = attention_.query_heads * attention_.head_dim;
  make(s.tables, 4 * rows + capacity.logit_rows + lanes * (sequence_words + capacity.lane_pages));
  s.host_tables.reserve(s.tables.size());
  make(s.settled, lanes);
  make(s.residual, rows * config.hidden);
  make(s.branch, rows * config.hidden);
  make(s.hidden, capacity.rows, config.hidden);
  make(s.inner, capacity.rows, std::max({values, heads, config.intermediate, config.shared_intermediate}));
  const auto make_recurrence = [&](Recurrence& r, size_t count, bool replayed) {
    make(r.qkv, count * delta_.channels());
    make(r.convolved, count * delta_.channels());
    make(r.a, count * delta_.value_heads);
    if (replayed) make(r.update, count * values);
  };
  make_recurrence(s.recurrence, rows, false);
  s.drafted.resize(std::ranges::count(config.layers, LayerKind::linear_attention));
  for (Recurrence& recurrence : s.drafted) make_recurrence(recurrence, capacity.draft_rows, true);
  make(s.z, rows * values);
  make(s.b, rows * delta_.value_heads);
  make(s.q_gate, rows * 2 * heads);
  make(s.k, rows * attention_.key_heads * attention_.head_dim);
  make(s.v, rows * attention_.key_heads * attention_.head_dim);
  make(s.q_high, rows * heads);
  make(s.q_low, rows * heads);
  make(s.q_multiplier, rows * attention_.query_heads);
  if (config.experts) {
    const size_t routed = rows * config.experts_per_token;
    make(s.router_logits, rows * config.experts);
    make(s.expert, routed);
    make(s.expert_weight, routed);
    make(s.routed, routed * config.hidden);
    make(s.shared, rows * config.hidden);
    make(s.shared_gate, rows);
    make(s.expert_inner, static_cast<int>(routed), config.expert_intermediate);
  }
  const size_t held = weights.draft ? lanes * held_rows : 0;
  make(s.stream, (rows + capacity.draft_rows + held) * config.hidden);
  if (weights.draft) {
    make(s.joined, capacity.rows, 2 * config.hidden);
  }
  make(s.last, capacity.logit_rows, config.hidden);
  make(s.logits, size_t(capacity.logit_rows) * config.vocabulary);
  make(s.candidates, capacity.logit_rows * candidate_bytes(most_candidates));
  s.host_candidates.resize(s.candidates.size());
  s.bytes = make.bytes;
}

Forward::~Forward() = default;

uint64_t Forward::scratch_bytes() const { return scratch_->bytes; }

size_t Forward::conv_state() const { return size_t(delta_.taps - 1) * delta_.channels(); }

size_t Forward::delta_state() const { return size_t(delta_.value_heads) * delta_.key_dim * delta_.value_dim; }

uint64_t Forward::state_bytes() const {
  const auto layers = std::ranges::count(config_.layers, LayerKind::linear_attention);
  return layers * (conv_state() + delta_state()) * sizeof(float);
}

uint64_t Forward::page_bytes() const {
  const auto layers = std::ranges::count(config_.layers, LayerKind::full_attention) + has_draft_head();
  return layers * device_.kv_page_bytes(config_.key_heads, config_.head_dim);
}

Footprint Forward::footprint() const {
  Footprint all = footprint_of(weights_, config_);
  all.state = state_bytes();
  const auto layers = std::ranges::count(config_.layers, LayerKind::full_attention);
  all.position = layers * device_.kv_page_bytes(config_.key_heads, config_.head_dim) / page_positions;
  return all;
}

void Forward::allocate(int slots, int pages) {
  const size_t page = device_.kv_page_bytes(config_.key_heads, config_.head_dim);
  for (LayerKind kind : config_.layers)
    if (kind == LayerKind::full_attention) {
      pages_.emplace_back(device_, pages * page);
    } else {
      conv_states_.emplace_back(device_, slots * conv_state());
      delta_states_.emplace_back(device_, slots * delta_state());
    }
  if (has_draft_head()) pages_.emplace_back(device_, pages * page);
}

void Forward::copy_state(int from, int to) {
  catch_up();
  const auto copy = [&](const DeviceArray<float>& states, size_t one) {
    device_.copy(states.data() + to * one, states.data() + from * one, one * sizeof(float));
  };
  for (const auto& states : conv_states_) copy(states, conv_state());
  for (const auto& states : delta_states_) copy(states, delta_state());
}

void Forward::copy_page(int32_t from, int32_t to) {
  const size_t page = device_.kv_page_bytes(config_.key_heads, config_.head_dim);
  for (const auto& pages : pages_) device_.copy(pages.data() + to * page, pages.data() + from * page, page);
}

const float* Forward::logits() const { return scratch_->logits.data(); }

void Forward::norm_into_hidden(const float* add, const DeviceFloats& weight, const Matrix& reader) {
  Scratch& s = *scratch_;
  s.hidden.begin(round_.rows, config_.hidden);
  device_.run(Norm{round_.rows, config_.hidden, s.residual.data(), add, weight.data(), config_.norm_eps,
                   s.hidden.x(), config_.hidden, s.hidden.fused(reader)});
}

void Forward::norm_stream(const DeviceFloats& weight, float* out) {
  Scratch& s = *scratch_;
  device_.run(Norm{round_.rows, config_.hidden, s.residual.data(), s.branch.data(), weight.data(),
                   config_.norm_eps, out, config_.hidden, nullptr});
}

const Forward::Recurrence& Forward::recurrence(size_t index) const {
  return drafted_ ? scratch_->drafted[index] : scratch_->recurrence;
}

void Forward::run(const Batch& batch) {
  upload(batch);
  drafted_ = !batch.sequences.empty() && batch.sequences.front().keep == 0;
  found_ = static_cast<int>(batch.logit_rows.size() * candidate_bytes(batch.candidates));
  // In turn with the layers, each state is still in the cache when it is read again. Only for a batch of the
  // same shape, so that there are not as many shapes as pairs of them.
  const bool alike = drafted_ && settled_.rows == round_.rows && settled_.sequences == round_.sequences &&
                     settled_.most_rows == round_.most_rows;
  if (!alike) catch_up();
  repeat(batch, alike ? Work::run_replaying : Work::run, &Forward::run_layers);
  settled_ = {};
}

void Forward::run_layers(const Batch& batch) {
  Scratch& s = *scratch_;
  device_.run(Embed{batch.rows(), s.tokens, weights_.embedding.get(), s.residual.data()});
  const float* add = nullptr;
  size_t delta_index = 0, attention_index = 0;
  for (const LayerWeights& layer : weights_.layers) {
    if (const auto* delta = std::get_if<DeltaWeights>(&layer.mixer)) {
      norm_into_hidden(add, layer.input_norm, *delta->qkv);
      mix(*delta, delta_index++);
    } else {
      const auto& attention = std::get<AttentionWeights>(layer.mixer);
      norm_into_hidden(add, layer.input_norm, *attention.q_gate);
      mix(attention, attention_index++);
    }
    add = s.branch.data();
    feed(layer);
  }
  const int wanted = static_cast<int>(batch.logit_rows.size());
  if (!wanted && !has_draft_head()) return;
  norm_stream(weights_.norm, s.stream.data());
  if (!wanted) return;
  s.last.begin(wanted, config_.hidden);
  device_.run(Gather{wanted, config_.hidden, s.logit_rows, s.stream.data(), s.last.x()});
  project(device_, s.last, {{&weights_.output(), s.logits.data(), config_.vocabulary}});
  find_candidates(batch, wanted, config_.vocabulary);
}

void Forward::feed(const LayerWeights& layer) {
  const float* add = scratch_->branch.data();
  if (const auto* dense = std::get_if<DenseWeights>(&layer.feed_forward)) {
    norm_into_hidden(add, layer.post_norm, *dense->gate_up);
    feed(*dense);
  } else {
    const auto& experts = std::get<ExpertWeights>(layer.feed_forward);
    norm_into_hidden(add, layer.post_norm, *experts.gate_up);
    feed(experts);
  }
}

// Gated delta rule: hidden -> branch.
void Forward::mix(const DeltaWeights& w, size_t index) {
  Scratch& s = *scratch_;
  if (settled_.sequences > 0) replay(w, index);  // its rows are about to be overwritten
  const Recurrence& r = recurrence(index);
  project(device_, s.hidden,
          {{w.qkv.get(), r.qkv.data(), delta_.channels()},
           {w.z.get(), s.z.data(), delta_.value_heads * delta_.value_dim},
           {w.a.get(), r.a.data(), delta_.value_heads},
           {w.b.get(), s.b.data(), delta_.value_heads}});
  device_.run(Convolution{round_, delta_, r.qkv.data(), w.conv.data(), conv_states_[index].data(),
                          r.convolved.data()});
  s.inner.begin(round_.rows, delta_.value_heads * delta_.value_dim);
  device_.run(DeltaRule{round_, delta_, r.convolved.data(), r.a.data(), s.b.data(), s.z.data(),
                        w.a_log.data(), w.dt_bias.data(), w.norm.data(), config_.norm_eps,
                        delta_states_[index].data(), r.update.data(), s.inner.x(), s.inner.fused(*w.out)});
  project(device_, s.inner, {{w.out.get(), s.branch.data(), config_.hidden}});
}

// Gated full attention: hidden -> branch.
void Forward::mix(const AttentionWeights& w, size_t index) {
  Scratch& s = *scratch_;
  const int heads = attention_.query_heads * attention_.head_dim,
            keys = attention_.key_heads * attention_.head_dim;
  const Blocks q{s.q_high.data(), s.q_low.data(), s.q_multiplier.data(), nullptr, heads, attention_.head_dim};
  const KvPages kv{pages_[index].data(), attention_.key_heads, attention_.head_dim};
  project(device_, s.hidden,
          {{w.q_gate.get(), s.q_gate.data(), 2 * heads},
           {w.k.get(), s.k.data(), keys},
           {w.v.get(), s.v.data(), keys}});
  device_.run(AttentionInputs{round_, attention_, s.q_gate.data(), s.k.data(), s.v.data(), w.q_norm.data(),
                              w.k_norm.data(), config_.norm_eps, weights_.inverse_frequency.data(), q, kv});
  s.inner.begin(round_.rows, heads);
  device_.run(Attention{round_, attention_, q, s.q_gate.data(), kv,
                        static_cast<float>(1 / std::sqrt(static_cast<double>(attention_.head_dim))),
                        s.inner.x(), s.inner.fused(*w.out)});
  project(device_, s.inner, {{w.out.get(), s.branch.data(), config_.hidden}});
}

// SwiGLU: hidden -> branch.
void Forward::feed(const DenseWeights& w) {
  Scratch& s = *scratch_;
  s.inner.begin(round_.rows, config_.intermediate);
  device_.run(SwiGlu{round_.rows, s.hidden.blocks(*w.gate_up), s.hidden.x(), w.gate_up.get(), s.inner.x(),
                     s.inner.fused(*w.down), nullptr, 1});
  project(device_, s.inner, {{w.down.get(), s.branch.data(), config_.hidden}});
}

// Mixture of experts with a shared expert: hidden -> branch.
void Forward::feed(const ExpertWeights& w) {
  Scratch& s = *scratch_;
  const int top = config_.experts_per_token, routed = round_.rows * top;
  project(device_, s.hidden,
          {{w.router.get(), s.router_logits.data(), config_.experts},
           {w.shared_gate.get(), s.shared_gate.data(), 1}});
  device_.run(Router{round_.rows, config_.experts, top, s.router_logits.data(), s.expert.data(),
                     s.expert_weight.data()});
  s.expert_inner.begin(routed, config_.expert_intermediate);
  device_.run(SwiGlu{routed, s.hidden.blocks(*w.gate_up), s.hidden.x(), w.gate_up.get(), s.expert_inner.x(),
                     s.expert_inner.fused(*w.down), s.expert.data(), top});
  const LinearOutput down{w.down.get(), s.routed.data(), config_.hidden};
  device_.run(
      Linear{routed, s.expert_inner.blocks(*w.down), s.expert_inner.x(), {&down, 1}, s.expert.data(), 1});
  s.inner.begin(round_.rows, config_.shared_intermediate);
  device_.run(SwiGlu{round_.rows, s.hidden.blocks(*w.shared_gate_up), s.hidden.x(), w.shared_gate_up.get(),
                     s.inner.x(), s.inner.fused(*w.shared_down), nullptr, 1});
  project(device_, s.inner, {{w.shared_down.get(), s.shared.data(), config_.hidden}});
  device_.run(CombineExperts{round_.rows, top, config_.hidden, s.routed.data(), s.expert_weight.data(),
                             s.shared.data(), s.shared_gate.data(), s.branch.data()});
}

Capacity serving_capacity(int chunk, int lanes, int context) {
  return {.rows = chunk + std::max(lanes, draft_rows + Forward::held_rows),
          .draft_rows = draft_rows,
          .logit_rows = std::max(lanes, draft_rows),
          .lanes = lanes,
          .lane_pages = (context + page_positions - 1) / page_positions};
}

}  // namespace lockstep::engine
