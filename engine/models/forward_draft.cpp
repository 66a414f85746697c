#include <array>

#include "engine/models/forward_scratch.h"

namespace lockstep::engine {

using namespace kernels;

void Forward::settle(const Batch& batch, std::span<const int> stands) {
  if (!drafted_) return;
  std::vector<Sequence> sequences;
  for (size_t i = 0; i < batch.sequences.size() && batch.sequences[i].keep == 0; ++i) {
    sequences.push_back(batch.sequences[i]);
    sequences.back().keep = stands[i];
  }
  scratch_->settled.upload(sequences);
  settled_ = {.rows = sequences.back().first_row + sequences.back().rows,
              .sequences = static_cast<int>(sequences.size()),
              .sequence = scratch_->settled.data(),
              .most_rows = round_.most_rows};
}

void Forward::catch_up() {
  if (settled_.sequences == 0) return;
  const std::array<int32_t, 4> key = {static_cast<int32_t>(Work::replay), settled_.rows, settled_.sequences,
                                      settled_.most_rows};
  device_.repeat(key, [&] {
    size_t index = 0;
    for (const LayerWeights& layer : weights_.layers)
      if (const auto* delta = std::get_if<DeltaWeights>(&layer.mixer)) replay(*delta, index++);
  });
  settled_ = {};
}

void Forward::replay(const DeltaWeights& w, size_t index) {
  const Recurrence& r = scratch_->drafted[index];
  device_.run(ConvolutionReplay{settled_, delta_, r.qkv.data(), conv_states_[index].data()});
  device_.run(DeltaReplay{settled_, delta_, r.convolved.data(), r.a.data(), w.a_log.data(), w.dt_bias.data(),
                          r.update.data(), delta_states_[index].data()});
}

void Forward::hold(int row, int slot, int index) {
  const size_t length = config_.hidden;
  float* stream = scratch_->stream.data();
  device_.copy(stream + held(slot, index) * length, stream + row * length, length * sizeof(float));
}

// The head's inputs joined, up to its layer's first norm.
void Forward::begin_draft(const Batch& batch) {
  Scratch& s = *scratch_;
  const DraftWeights& w = *weights_.draft;
  const int rows = batch.rows(), length = config_.hidden;
  device_.run(Embed{rows, s.tokens, weights_.embedding.get(), s.residual.data()});
  device_.run(Gather{rows, length, s.hidden_rows, s.stream.data(), s.branch.data()});
  s.joined.begin(rows, 2 * length);
  device_.run(Norm{rows, length, s.residual.data(), nullptr, w.embedding_norm.data(), config_.norm_eps,
                   s.joined.x(), 2 * length, nullptr});
  device_.run(Norm{rows, length, s.branch.data(), nullptr, w.hidden_norm.data(), config_.norm_eps,
                   s.joined.x() + length, 2 * length, nullptr});
  project(device_, s.joined, {{w.join.get(), s.residual.data(), length}});
  norm_into_hidden(nullptr, w.layer.input_norm, *std::get<AttentionWeights>(w.layer.mixer).q_gate);
}

void Forward::read_draft(const Batch& batch, std::span<const int32_t> hidden) {
  upload(batch, hidden);
  repeat(batch, Work::read_draft, &Forward::read_draft_layer);
}

void Forward::read_draft_layer(const Batch& batch) {
  Scratch& s = *scratch_;
  const auto& w = std::get<AttentionWeights>(weights_.draft->layer.mixer);
  const int keys = attention_.key_heads * attention_.head_dim;
  begin_draft(batch);
  project(device_, s.hidden, {{w.k.get(), s.k.data(), keys}, {w.v.get(), s.v.data(), keys}});
  // Nobody reads these rows' queries: they are made of whatever q_gate holds.
  const Blocks q{s.q_high.data(),
                 s.q_low.data(),
                 s.q_multiplier.data(),
                 nullptr,
                 attention_.query_heads * attention_.head_dim,
                 attention_.head_dim};
  device_.run(AttentionInputs{round_,
                              attention_,
                              s.q_gate.data(),
                              s.k.data(),
                              s.v.data(),
                              w.q_norm.data(),
                              w.k_norm.data(),
                              config_.norm_eps,
                              weights_.inverse_frequency.data(),
                              q,
                              {pages_.back().data(), attention_.key_heads, attention_.head_dim}});
}

void Forward::draft(const Batch& batch, std::span<const int32_t> hidden) {
  upload(batch, hidden);
  found_ = static_cast<int>(batch.logit_rows.size() * candidate_bytes(batch.candidates));
  repeat(batch, Work::draft, &Forward::draft_layer);
}

void Forward::draft_layer(const Batch& batch) {
  Scratch& s = *scratch_;
  const DraftWeights& w = *weights_.draft;
  float* out = s.stream.data() + size_t(capacity_.rows) * config_.hidden;
  begin_draft(batch);
  mix(std::get<AttentionWeights>(w.layer.mixer), pages_.size() - 1);
  feed(w.layer);
  norm_stream(w.norm, out);
  const int wanted = static_cast<int>(batch.logit_rows.size());
  s.last.begin(wanted, config_.hidden);
  device_.run(Gather{wanted, config_.hidden, s.logit_rows, out, s.last.x()});
  project(device_, s.last, {{w.output.get(), s.logits.data(), w.output->outputs}});
  find_candidates(batch, wanted, w.output->outputs);
}

}  // namespace lockstep::engine
