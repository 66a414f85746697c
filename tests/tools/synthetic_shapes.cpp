#include "tests/tools/synthetic.h"

namespace lockstep::tools {

namespace {

SyntheticShape experts_of(SyntheticShape shape) {
  shape.intermediate = 0;
  shape.experts = 8;
  shape.experts_per_token = 2;
  shape.expert_intermediate = 128;
  shape.shared_intermediate = 128;
  return shape;
}

// One width throughout each, every group and scale type, the geometries of the family scaled down.
void add_dense(std::vector<SyntheticShape>& shapes) {
  shapes.push_back({.name = "w2", .seed = 2, .tied_head = true, .storage = {2, 32, "BF16"}});
  shapes.push_back({.name = "w3",
                    .seed = 3,
                    .query_heads = 6,
                    .key_heads = 2,
                    .delta_key_heads = 2,
                    .delta_value_heads = 6,
                    .storage = {3, 64, "F16"},
                    .small = "F16"});
  shapes.push_back({.name = "w4",
                    .seed = 4,
                    .hidden = 256,
                    .query_heads = 3,
                    .key_heads = 1,
                    .head_dim = 128,
                    .rotary_factor = 0.5,
                    .delta_key_heads = 2,
                    .delta_value_heads = 4,
                    .delta_key_dim = 128,
                    .delta_value_dim = 128,
                    .intermediate = 640,
                    .storage = {4, 128, "F32"}});
  shapes.push_back({.name = "w5",
                    .seed = 5,
                    .hidden = 512,
                    .query_heads = 6,
                    .key_heads = 1,
                    .head_dim = 256,
                    .rope_theta = 1e7,
                    .delta_key_heads = 1,
                    .delta_value_heads = 3,
                    .delta_key_dim = 128,
                    .delta_value_dim = 128,
                    .tied_head = true,
                    .storage = {5, 64, "BF16"}});
  shapes.push_back({.name = "w6",
                    .seed = 6,
                    .hidden = 320,
                    .layers = 5,
                    .full_attention_interval = 2,
                    .rotary_factor = 1,
                    .norm_eps = 1e-5,
                    .taps = 3,
                    .intermediate = 352,
                    .mtp_layers = 0,
                    .storage = {6, 32, "F32"},
                    .small = "F32",
                    .prefix = ""});
  shapes.push_back({.name = "w8",
                    .seed = 8,
                    .vocabulary = 2051,
                    .query_heads = 8,
                    .key_heads = 1,
                    .head_dim = 32,
                    .delta_key_heads = 2,
                    .delta_value_heads = 2,
                    .delta_key_dim = 64,
                    .delta_value_dim = 128,
                    .storage = {8, 128, "F16"},
                    .prefix = "model.language_model.",
                    .shards = 3});
  shapes.push_back({.name = "bf16", .seed = 16, .storage = {16, 0, ""}, .flat_config = true});
  shapes.push_back({.name = "mixed",
                    .seed = 7,
                    .hidden = 256,
                    .storage = {4, 64, "BF16"},
                    .roles = {{"embed", {8, 32, "F16"}},
                              {"head", {6, 64, "BF16"}},
                              {"attention", {5, 128, "BF16"}},
                              {"delta", {3, 32, "F32"}},
                              {"delta_gates", {16, 0, ""}},
                              {"mlp", {2, 128, "F16"}},
                              {"mtp", {16, 0, ""}}},
                    .flat_config = true,
                    .mtp_file = true});
}

void add_experts(std::vector<SyntheticShape>& shapes) {
  SyntheticShape plain =
      experts_of({.name = "moe", .seed = 11, .roles = {{"router", {8, 64, "BF16"}}}, .shards = 2});
  shapes.push_back(plain);

  SyntheticShape many = experts_of({.name = "moe-many",
                                    .seed = 12,
                                    .hidden = 256,
                                    .query_heads = 16,
                                    .key_heads = 2,
                                    .head_dim = 32,
                                    .delta_key_heads = 2,
                                    .delta_value_heads = 4,
                                    .tied_head = true,
                                    .storage = {5, 32, "F16"}});
  many.experts = 32;
  many.experts_per_token = 8;
  many.expert_intermediate = 64;
  many.shared_intermediate = 96;
  shapes.push_back(many);

  SyntheticShape mixed = experts_of({.name = "moe-mixed",
                                     .seed = 13,
                                     .mtp_layers = 0,
                                     .storage = {6, 64, "F32"},
                                     .roles = {{"router", {16, 0, ""}},
                                               {"experts", {3, 128, "BF16"}},
                                               {"mlp", {8, 32, "F16"}},
                                               {"head", {4, 32, "BF16"}}}});
  mixed.experts = 12;
  mixed.experts_per_token = 3;
  mixed.expert_intermediate = 256;
  shapes.push_back(mixed);

  SyntheticShape bf16 = experts_of({.name = "moe-bf16", .seed = 14, .storage = {16, 0, ""}, .small = "F32"});
  bf16.experts = 4;
  bf16.experts_per_token = 4;
  shapes.push_back(bf16);
}

}  // namespace

const std::vector<SyntheticShape>& synthetic_shapes() {
  static const std::vector<SyntheticShape> shapes = [] {
    std::vector<SyntheticShape> list;
    add_dense(list);
    add_experts(list);
    return list;
  }();
  return shapes;
}

const std::vector<SyntheticShape>& published_shapes() {
  static const std::vector<SyntheticShape> shapes = {{.name = "27b",
                                                      .vocabulary = 248320,
                                                      .hidden = 5120,
                                                      .layers = 64,
                                                      .max_positions = 262144,
                                                      .query_heads = 24,
                                                      .key_heads = 4,
                                                      .head_dim = 256,
                                                      .rope_theta = 1e7,
                                                      .delta_key_heads = 16,
                                                      .delta_value_heads = 48,
                                                      .delta_key_dim = 128,
                                                      .delta_value_dim = 128,
                                                      .intermediate = 17408,
                                                      .shards = 4},
                                                     {.name = "35b-a3b",
                                                      .vocabulary = 248320,
                                                      .hidden = 2048,
                                                      .layers = 40,
                                                      .max_positions = 262144,
                                                      .query_heads = 16,
                                                      .key_heads = 2,
                                                      .head_dim = 256,
                                                      .rope_theta = 1e7,
                                                      .delta_key_heads = 16,
                                                      .delta_value_heads = 32,
                                                      .delta_key_dim = 128,
                                                      .delta_value_dim = 128,
                                                      .intermediate = 0,
                                                      .experts = 256,
                                                      .experts_per_token = 8,
                                                      .expert_intermediate = 512,
                                                      .shared_intermediate = 512,
                                                      .roles = {{"router", {8, 64, "BF16"}}},
                                                      .shards = 4}};
  return shapes;
}

}  // namespace lockstep::tools
