// The "quantization" part of config.json as MLX writes it: one default, and exceptions by module.
//
//   "quantization": {"bits": 4, "group_size": 64, "mode": "affine",
//                    "model.embed_tokens": {"bits": 8, "group_size": 64}, "model.layers.3.mlp.down_proj":
//                    false}
//
// Exceptions may be keyed under any prefix of tensor_names.h; false leaves a module in bf16, true gives it
// the default. The default binds the modules that are stored as codes: one that is stored in bf16 and has no
// exception is taken as it is, as MLX does.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::engine {

class JsonObject;

struct CodeFormat {
  int bits;   // 2, 3, 4, 5, 6 or 8
  int group;  // inputs per scale and bias: 32, 64 or 128
  bool operator==(const CodeFormat&) const = default;
};

struct Quantization {
  std::optional<CodeFormat> standard;                           // none: everything is bf16
  std::map<std::string, std::optional<CodeFormat>> exceptions;  // by canonical module; nullopt: bf16
  bool operator==(const Quantization&) const = default;
};

// Reads "quantization" and "quantization_config", which must say the same where both are there.
// Throws CheckpointError.
Quantization read_quantization(const JsonObject& config);

}  // namespace lockstep::engine
