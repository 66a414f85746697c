#include "engine/models/weights.h"

#include <algorithm>
#include <cmath>

#include "engine/models/coarse.h"

namespace lockstep::engine {
namespace {

constexpr int least_guessed = 8192;  // tokens that the multi-token head chooses from, or all

class Loader {
 public:
  Loader(kernels::Device& device, const Checkpoint& checkpoint)
      : device_(device), checkpoint_(checkpoint), config_(checkpoint.config()) {}

  MatrixPtr matrix(const std::string& module, int outputs, int inputs, int experts = 1) {
    HostMatrix host = checkpoint_.matrix(module, outputs, inputs, experts);
    return count(device_.pack(host.source));
  }
  MatrixPtr pair(const std::string& gate, const std::string& up, int outputs, int inputs, int experts = 1) {
    HostMatrix first = checkpoint_.matrix(gate, outputs, inputs, experts);
    HostMatrix second = checkpoint_.matrix(up, outputs, inputs, experts);
    if (first.source.bits != second.source.bits || first.source.group != second.source.group ||
        first.source.scale_type != second.source.scale_type)
      throw CheckpointError(gate + " and " + up +
                            " are quantized differently; quantize both with the same bits and group");
    return count(device_.pack_pair(first.source, second.source));
  }
  DeviceFloats floats(const std::string& tensor, int64_t elements) {
    DeviceFloats values(device_, checkpoint_.floats(tensor, elements));
    bytes += values.bytes();
    return values;
  }

  DeltaWeights delta(const std::string& at) {
    const ModelConfig& c = config_;
    const int keys = c.delta_key_heads * c.delta_key_dim, values = c.delta_value_heads * c.delta_value_dim;
    const int channels = 2 * keys + values;
    DeltaWeights w;
    w.qkv = matrix(at + "in_proj_qkv", channels, c.hidden);
    w.z = matrix(at + "in_proj_z", values, c.hidden);
    w.b = matrix(at + "in_proj_b", c.delta_value_heads, c.hidden);
    w.a = matrix(at + "in_proj_a", c.delta_value_heads, c.hidden);
    w.out = matrix(at + "out_proj", c.hidden, values);
    w.conv = floats(at + "conv1d.weight", int64_t{channels} * c.conv_taps);
    w.a_log = floats(at + "A_log", c.delta_value_heads);
    w.dt_bias = floats(at + "dt_bias", c.delta_value_heads);
    w.norm = floats(at + "norm.weight", c.delta_value_dim);
    return w;
  }
  AttentionWeights attention(const std::string& at) {
    const ModelConfig& c = config_;
    AttentionWeights w;
    w.q_gate = matrix(at + "q_proj", c.query_heads * c.head_dim * 2, c.hidden);
    w.k = matrix(at + "k_proj", c.key_heads * c.head_dim, c.hidden);
    w.v = matrix(at + "v_proj", c.key_heads * c.head_dim, c.hidden);
    w.out = matrix(at + "o_proj", c.hidden, c.query_heads * c.head_dim);
    w.q_norm = floats(at + "q_norm.weight", c.head_dim);
    w.k_norm = floats(at + "k_norm.weight", c.head_dim);
    return w;
  }
  DenseWeights dense(const std::string& at) {
    const ModelConfig& c = config_;
    DenseWeights w;
    w.gate_up = pair(at + "gate_proj", at + "up_proj", c.intermediate, c.hidden);
    w.down = matrix(at + "down_proj", c.hidden, c.intermediate);
    return w;
  }
  ExpertWeights experts(const std::string& at) {
    const ModelConfig& c = config_;
    const std::string stack = at + "switch_mlp.", shared = at + "shared_expert.";
    ExpertWeights w;
    w.router = matrix(at + "gate", c.experts, c.hidden);
    w.gate_up = pair(stack + "gate_proj", stack + "up_proj", c.expert_intermediate, c.hidden, c.experts);
    w.down = matrix(stack + "down_proj", c.hidden, c.expert_intermediate, c.experts);
    w.shared_gate_up = pair(shared + "gate_proj", shared + "up_proj", c.shared_intermediate, c.hidden);
    w.shared_down = matrix(shared + "down_proj", c.hidden, c.shared_intermediate);
    w.shared_gate = matrix(at + "shared_expert_gate", 1, c.hidden);
    return w;
  }
  LayerWeights layer(const std::string& at, LayerKind kind) {
    LayerWeights w;
    w.input_norm = floats(at + "input_layernorm.weight", config_.hidden);
    w.post_norm = floats(at + "post_attention_layernorm.weight", config_.hidden);
    if (kind == LayerKind::full_attention)
      w.mixer = attention(at + "self_attn.");
    else
      w.mixer = delta(at + "linear_attn.");
    if (config_.experts)
      w.feed_forward = experts(at + "mlp.");
    else
      w.feed_forward = dense(at + "mlp.");
    return w;
  }

  DraftWeights draft() {
    DraftWeights w;
    w.embedding_norm = floats("mtp.pre_fc_norm_embedding.weight", config_.hidden);
    w.hidden_norm = floats("mtp.pre_fc_norm_hidden.weight", config_.hidden);
    w.join = matrix("mtp.fc", config_.hidden, 2 * config_.hidden);
    w.layer = layer("mtp.layers.0.", LayerKind::full_attention);
    w.norm = floats("mtp.norm.weight", config_.hidden);
    HostMatrix output = checkpoint_.matrix(config_.tied_head ? "model.embed_tokens" : "lm_head",
                                           config_.vocabulary, config_.hidden);
    output.source.outputs =
        std::min(config_.vocabulary, (std::max(config_.vocabulary / 4, least_guessed) + 63) / 64 * 64);
    w.output = count(device_.pack(output.source.bits == 8 ? coarse(output.source).source : output.source));
    return w;
  }

  uint64_t bytes = 0;

 private:
  MatrixPtr count(MatrixPtr matrix) {
    bytes += matrix->bytes;
    return matrix;
  }

  kernels::Device& device_;
  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
};

uint64_t size(const MatrixPtr& matrix) { return matrix->bytes; }
uint64_t size(const DeviceFloats& values) { return values.bytes(); }
template <class... Parts>
uint64_t sum(const Parts&... parts) {
  return (size(parts) + ...);
}

}  // namespace

Footprint footprint_of(const Weights& weights, const ModelConfig& config) {
  Footprint all;
  all.expert_count = config.experts;
  all.experts_per_row = config.experts_per_token;
  all.weights = weights.output().bytes + sum(weights.norm, weights.inverse_frequency);
  for (const LayerWeights& layer : weights.layers) {
    all.weights += sum(layer.input_norm, layer.post_norm);
    if (const auto* w = std::get_if<DeltaWeights>(&layer.mixer))
      all.weights += sum(w->qkv, w->z, w->b, w->a, w->out, w->conv, w->a_log, w->dt_bias, w->norm);
    else if (const auto* a = std::get_if<AttentionWeights>(&layer.mixer))
      all.weights += sum(a->q_gate, a->k, a->v, a->out, a->q_norm, a->k_norm);
    if (const auto* w = std::get_if<DenseWeights>(&layer.feed_forward)) {
      all.weights += sum(w->gate_up, w->down);
    } else if (const auto* e = std::get_if<ExpertWeights>(&layer.feed_forward)) {
      all.weights += sum(e->router, e->shared_gate_up, e->shared_down, e->shared_gate);
      all.experts += sum(e->gate_up, e->down);
    }
  }
  return all;
}

double Footprint::weights_of(int rows) const {
  if (experts == 0) return static_cast<double>(weights);
  const double left_out = 1 - static_cast<double>(experts_per_row) / expert_count;
  return static_cast<double>(weights) + static_cast<double>(experts) * (1 - std::pow(left_out, rows));
}

std::vector<float> rotary_frequencies(double theta, int dim) {
  std::vector<float> frequency(dim / 2);
  for (int i = 0; i < dim / 2; ++i) frequency[i] = kernels::canon::inverse_frequency(theta, i, dim);
  return frequency;
}

Weights load_weights(kernels::Device& device, const Checkpoint& checkpoint,
                     const std::function<void(int)>& layer_done) {
  const ModelConfig& config = checkpoint.config();
  Loader loader(device, checkpoint);
  Weights weights;
  weights.embedding = loader.matrix("model.embed_tokens", config.vocabulary, config.hidden);
  if (!config.tied_head) weights.head = loader.matrix("lm_head", config.vocabulary, config.hidden);
  weights.norm = loader.floats("model.norm.weight", config.hidden);
  weights.inverse_frequency = DeviceFloats(device, rotary_frequencies(config.rope_theta, config.rotary_dim));
  for (int i = 0; i < static_cast<int>(config.layers.size()); ++i) {
    weights.layers.push_back(loader.layer("model.layers." + std::to_string(i) + ".", config.layers[i]));
    layer_done(i);
  }
  if (config.mtp_layers) weights.draft = loader.draft();
  weights.bytes = loader.bytes + weights.inverse_frequency.bytes();
  return weights;
}

}  // namespace lockstep::engine
