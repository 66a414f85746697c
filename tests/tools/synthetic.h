// Checkpoints with random weights, for any shape of the two model families.
//
// Weights come from a fixed seed and are of a realistic scale: activations neither die nor explode, and the
// logits are spread enough that greedy choices are rarely close. The same shape gives the same bytes on every
// machine. Written in the conventions of MLX's converters (engine/files/checkpoint.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::tools {

// How the matrices of a role are stored. bits 16: bf16, without scales.
struct Storage {
  int bits = 4;
  int group = 64;
  std::string scales = "BF16";  // or F16, F32
};

struct SyntheticShape {
  std::string name;
  uint64_t seed = 1;

  int vocabulary = 2048, hidden = 128, layers = 4, full_attention_interval = 4;
  int max_positions = 2048;
  int query_heads = 2, key_heads = 1, head_dim = 64;
  double rotary_factor = 0.25, rope_theta = 10000, norm_eps = 1e-6;
  int delta_key_heads = 1, delta_value_heads = 2, delta_key_dim = 64, delta_value_dim = 64, taps = 4;
  int intermediate = 256;  // dense models
  int experts = 0, experts_per_token = 0, expert_intermediate = 0,
      shared_intermediate = 0;  // 0 experts: dense
  bool tied_head = false;
  int mtp_layers = 1;  // 0 or 1

  // Of all matrices, and the exceptions by role: embed, head, attention, delta, delta_gates (in_proj_a and
  // in_proj_b), mlp, router, experts, mtp.
  Storage storage = {};
  std::map<std::string, Storage> roles = {};
  std::string small = "BF16";  // type of the small tensors, A_log is always F32

  std::string prefix = "language_model.";  // also "", "model.language_model."
  bool flat_config = false;                // the text model's settings at the top of config.json
  int shards = 1;                          // more than one: with an index
  bool mtp_file = false;                   // the multi-token head in mtp.safetensors
};

// Writes the checkpoint into `directory`, which is made; tensors are streamed, so that full-size shapes need
// little memory. tokenizer.json, tokenizer_config.json, chat_template.jinja and generation_config.json are
// copied from `tokenizer`, whose ids must be below the vocabulary. Throws std::runtime_error.
void write_synthetic(const SyntheticShape& shape, const std::filesystem::path& directory,
                     const std::filesystem::path& tokenizer);

// The small shapes that tests use: together every width, group, scale type and head geometry.
const std::vector<SyntheticShape>& synthetic_shapes();
// The shapes of the published models, "27b" and "35b-a3b", at 4 bits: 15 and 20 GB.
const std::vector<SyntheticShape>& published_shapes();

// The directory of the small shape with that name, written into the build directory when it is not there.
// Programs that run at the same time may ask for the same one.
std::filesystem::path synthetic(std::string_view name);

// A copy of a checkpoint directory with another max_position_embeddings, in the build directory; the weights
// are a link.
std::filesystem::path copy_with_max_positions(const std::filesystem::path& directory, int positions);

}  // namespace lockstep::tools
