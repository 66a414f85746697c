#include "engine/files/expected_tensors.h"

namespace lockstep::engine {

namespace {

class List {
 public:
  explicit List(const ModelConfig& config) : c_(config) {}

  void trunk() {
    matrix("model.embed_tokens", c_.vocabulary, c_.hidden);
    for (size_t i = 0; i < c_.layers.size(); i++)
      layer("model.layers." + std::to_string(i) + ".", c_.layers[i]);
    floats("model.norm.weight", {c_.hidden});
    if (!c_.tied_head) matrix("lm_head", c_.vocabulary, c_.hidden);
  }

  void multi_token_head() {
    matrix("mtp.fc", c_.hidden, 2 * c_.hidden);
    floats("mtp.pre_fc_norm_embedding.weight", {c_.hidden});
    floats("mtp.pre_fc_norm_hidden.weight", {c_.hidden});
    for (int i = 0; i < c_.mtp_layers; i++)
      layer("mtp.layers." + std::to_string(i) + ".", LayerKind::full_attention);
    floats("mtp.norm.weight", {c_.hidden});
  }

  ExpectedTensors result;

 private:
  void matrix(const std::string& name, int outputs, int inputs, int experts = 0) {
    result.matrices.push_back({name, outputs, inputs, experts});
  }
  void floats(const std::string& name, std::vector<int64_t> shape) {
    result.floats.push_back({name, std::move(shape)});
  }

  void layer(const std::string& at, LayerKind kind) {
    floats(at + "input_layernorm.weight", {c_.hidden});
    if (kind == LayerKind::full_attention)
      full_attention(at + "self_attn.");
    else
      linear_attention(at + "linear_attn.");
    floats(at + "post_attention_layernorm.weight", {c_.hidden});
    if (c_.experts == 0)
      feed_forward(at + "mlp.", c_.intermediate);
    else
      experts(at + "mlp.");
  }

  void full_attention(const std::string& at) {
    const int queries = c_.query_heads * c_.head_dim, keys = c_.key_heads * c_.head_dim;
    matrix(at + "q_proj", 2 * queries, c_.hidden);  // of each head: query, then gate
    matrix(at + "k_proj", keys, c_.hidden);
    matrix(at + "v_proj", keys, c_.hidden);
    matrix(at + "o_proj", c_.hidden, queries);
    floats(at + "q_norm.weight", {c_.head_dim});
    floats(at + "k_norm.weight", {c_.head_dim});
  }

  void linear_attention(const std::string& at) {
    const int keys = c_.delta_key_heads * c_.delta_key_dim,
              values = c_.delta_value_heads * c_.delta_value_dim;
    const int channels = 2 * keys + values;
    matrix(at + "in_proj_qkv", channels, c_.hidden);
    matrix(at + "in_proj_z", values, c_.hidden);
    matrix(at + "in_proj_a", c_.delta_value_heads, c_.hidden);
    matrix(at + "in_proj_b", c_.delta_value_heads, c_.hidden);
    matrix(at + "out_proj", c_.hidden, values);
    floats(at + "conv1d.weight", {channels, c_.conv_taps, 1});
    floats(at + "A_log", {c_.delta_value_heads});
    floats(at + "dt_bias", {c_.delta_value_heads});
    floats(at + "norm.weight", {c_.delta_value_dim});
  }

  void feed_forward(const std::string& at, int intermediate) {
    matrix(at + "gate_proj", intermediate, c_.hidden);
    matrix(at + "up_proj", intermediate, c_.hidden);
    matrix(at + "down_proj", c_.hidden, intermediate);
  }

  void experts(const std::string& at) {
    matrix(at + "gate", c_.experts, c_.hidden);
    matrix(at + "switch_mlp.gate_proj", c_.expert_intermediate, c_.hidden, c_.experts);
    matrix(at + "switch_mlp.up_proj", c_.expert_intermediate, c_.hidden, c_.experts);
    matrix(at + "switch_mlp.down_proj", c_.hidden, c_.expert_intermediate, c_.experts);
    feed_forward(at + "shared_expert.", c_.shared_intermediate);
    matrix(at + "shared_expert_gate", 1, c_.hidden);
  }

  const ModelConfig& c_;
};

}  // namespace

ExpectedTensors expected_tensors(const ModelConfig& config) {
  List list(config);
  list.trunk();
  if (config.mtp_layers > 0) list.multi_token_head();
  return std::move(list.result);
}

}  // namespace lockstep::engine
