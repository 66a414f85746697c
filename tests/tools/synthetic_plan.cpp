#include "tests/tools/synthetic_plan.h"

#include <cmath>
#include <stdexcept>

namespace lockstep::tools {

namespace {

using Numbers = PlannedTensor::Numbers;

class Planner {
 public:
  explicit Planner(const SyntheticShape& shape) : s_(shape) {}

  void run() {
    const float spread = 3.0f;  // deviation of the logits
    matrix("model.embed_tokens", s_.vocabulary, s_.hidden, spread);
    for (int i = 0; i < s_.layers; i++)
      layer("model.layers." + std::to_string(i) + ".", (i + 1) % s_.full_attention_interval == 0);
    norm("model.norm.weight", s_.hidden);
    if (!s_.tied_head) matrix("lm_head", s_.vocabulary, s_.hidden, spread);
    if (s_.mtp_layers == 0) return;
    matrix("mtp.fc", s_.hidden, 2 * s_.hidden);
    norm("mtp.pre_fc_norm_embedding.weight", s_.hidden);
    norm("mtp.pre_fc_norm_hidden.weight", s_.hidden);
    layer("mtp.layers.0.", true);
    norm("mtp.norm.weight", s_.hidden);
  }

  SyntheticPlan plan;

 private:
  void small(const std::string& name, std::vector<int64_t> shape, Numbers numbers, float a, float b) {
    const std::string& type = name.ends_with("A_log") ? "F32" : s_.small;
    plan.tensors.push_back({{name, type, std::move(shape)}, numbers, a, b});
  }
  void norm(const std::string& name, int length, float mean = 1) {
    small(name, {length}, Numbers::normal, mean, 0.1f * mean);
  }

  // The first of the roles that the shape stores in its own way, else the standard.
  const Storage& storage_of(const std::string& module) const {
    const auto in = [&](std::string_view part) { return module.find(part) != module.npos; };
    std::vector<std::string> roles;
    if (module.starts_with("mtp.")) roles.push_back("mtp");
    if (in("embed_tokens")) roles.push_back("embed");
    if (in("lm_head")) roles.push_back("head");
    if (in("self_attn")) roles.push_back("attention");
    if (in("in_proj_a") || in("in_proj_b")) roles.push_back("delta_gates");
    if (in("linear_attn")) roles.push_back("delta");
    if (module.ends_with("mlp.gate") || in("shared_expert_gate")) roles.push_back("router");
    if (in("switch_mlp")) roles.push_back("experts");
    if (in("mlp.")) roles.push_back("mlp");
    for (const std::string& role : roles)
      if (const auto at = s_.roles.find(role); at != s_.roles.end()) return at->second;
    return s_.storage;
  }

  // `gain`: deviation of the outputs for inputs of deviation 1.
  void matrix(const std::string& name, int outputs, int inputs, float gain = 1, int experts = 0) {
    const Storage& storage = storage_of(name);
    plan.modules.push_back({name, storage});
    const float deviation = gain / std::sqrt(static_cast<float>(inputs));
    const auto shape = [&](int64_t columns) {
      return experts > 0 ? std::vector<int64_t>{experts, outputs, columns}
                         : std::vector<int64_t>{outputs, columns};
    };
    if (storage.bits == 16) {
      plan.tensors.push_back({{name + ".weight", "BF16", shape(inputs)}, Numbers::normal, 0, deviation});
      return;
    }
    if (inputs % storage.group != 0)
      throw std::runtime_error(name + " has " + std::to_string(inputs) +
                               " inputs, not a multiple of its group, " + std::to_string(storage.group));
    const int64_t groups = inputs / storage.group;
    plan.tensors.push_back({{name + ".weight", "U32", shape(int64_t{inputs} * storage.bits / 32)},
                            Numbers::codes,
                            0,
                            0,
                            storage.bits});
    plan.tensors.push_back(
        {{name + ".scales", storage.scales, shape(groups)}, Numbers::scales, 0, deviation, storage.bits});
    plan.tensors.push_back(
        {{name + ".biases", storage.scales, shape(groups)}, Numbers::biases, 0, deviation, storage.bits});
  }

  void layer(const std::string& at, bool full) {
    norm(at + "input_layernorm.weight", s_.hidden);
    if (full)
      full_attention(at + "self_attn.");
    else
      linear_attention(at + "linear_attn.");
    norm(at + "post_attention_layernorm.weight", s_.hidden);
    if (s_.experts > 0)
      experts(at + "mlp.");
    else
      feed_forward(at + "mlp.", s_.intermediate);
  }

  void full_attention(const std::string& at) {
    const int queries = s_.query_heads * s_.head_dim, keys = s_.key_heads * s_.head_dim;
    matrix(at + "q_proj", 2 * queries, s_.hidden);
    matrix(at + "k_proj", keys, s_.hidden);
    matrix(at + "v_proj", keys, s_.hidden);
    matrix(at + "o_proj", s_.hidden, queries, 2);
    norm(at + "q_norm.weight", s_.head_dim, 2);  // scores of deviation 2: attention that looks at something
    norm(at + "k_norm.weight", s_.head_dim);
  }

  void linear_attention(const std::string& at) {
    const int keys = s_.delta_key_heads * s_.delta_key_dim,
              values = s_.delta_value_heads * s_.delta_value_dim;
    matrix(at + "in_proj_qkv", 2 * keys + values, s_.hidden);
    matrix(at + "in_proj_z", values, s_.hidden);
    matrix(at + "in_proj_a", s_.delta_value_heads, s_.hidden);
    matrix(at + "in_proj_b", s_.delta_value_heads, s_.hidden);
    matrix(at + "out_proj", s_.hidden, values);
    small(at + "conv1d.weight", {2 * keys + values, s_.taps, 1}, Numbers::normal, 0.1f, 0.4f);
    small(at + "A_log", {s_.delta_value_heads}, Numbers::uniform, -1, 2.5f);
    small(at + "dt_bias", {s_.delta_value_heads}, Numbers::uniform, -6, -1);
    norm(at + "norm.weight", s_.delta_value_dim);
  }

  void feed_forward(const std::string& at, int intermediate) {
    matrix(at + "gate_proj", intermediate, s_.hidden);
    matrix(at + "up_proj", intermediate, s_.hidden);
    matrix(at + "down_proj", s_.hidden, intermediate);
  }

  void experts(const std::string& at) {
    matrix(at + "gate", s_.experts, s_.hidden, 2);
    matrix(at + "switch_mlp.gate_proj", s_.expert_intermediate, s_.hidden, 1, s_.experts);
    matrix(at + "switch_mlp.up_proj", s_.expert_intermediate, s_.hidden, 1, s_.experts);
    matrix(at + "switch_mlp.down_proj", s_.hidden, s_.expert_intermediate, 1, s_.experts);
    feed_forward(at + "shared_expert.", s_.shared_intermediate);
    matrix(at + "shared_expert_gate", 1, s_.hidden);
  }

  const SyntheticShape& s_;
};

}  // namespace

SyntheticPlan plan_synthetic(const SyntheticShape& shape) {
  Planner planner(shape);
  planner.run();
  return std::move(planner.plan);
}

}  // namespace lockstep::tools
