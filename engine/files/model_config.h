// What config.json and generation_config.json say about a model of the types qwen3_5 and qwen3_5_moe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::engine {

enum class LayerKind : uint8_t { linear_attention, full_attention };

struct ModelConfig {
  std::string model_type;  // "qwen3_5" or "qwen3_5_moe"
  int vocabulary = 0;
  int hidden = 0;
  int max_positions = 0;  // max_position_embeddings
  float norm_eps = 1e-6f;
  bool tied_head = false;
  std::vector<LayerKind> layers;

  // Full attention.
  int query_heads = 0, key_heads = 0, head_dim = 0;
  int rotary_dim = 0;  // head_dim * partial_rotary_factor
  double rope_theta = 0;

  // Gated delta rule.
  int delta_key_heads = 0, delta_value_heads = 0, delta_key_dim = 0, delta_value_dim = 0, conv_taps = 0;

  // Dense feed-forward; 0 in expert models.
  int intermediate = 0;

  // Experts; 0 in dense models.
  int experts = 0, experts_per_token = 0, expert_intermediate = 0, shared_intermediate = 0;

  int mtp_layers = 0;  // layers of the multi-token head; 0 when the checkpoint has none

  std::vector<int32_t> end_tokens;  // eos_token_id of generation_config.json, else of config.json

  // Defaults of generation_config.json.
  std::optional<float> temperature, top_p, min_p;
  std::optional<int> top_k;
};

}  // namespace lockstep::engine
