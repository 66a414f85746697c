// Reads config.json and generation_config.json of a checkpoint directory.
//
// The text model's fields may stand in "text_config" or at the top. Whatever changes the computation and is
// not built here is refused by name: a config that asks for it would load and talk nonsense otherwise.
#pragma once

#include <filesystem>
#include <string>

#include "engine/files/model_config.h"
#include "engine/files/quantization.h"

namespace lockstep::engine {

struct CheckpointConfig {
  ModelConfig model;  // mtp_layers as config.json says, whether the tensors are there or not
  Quantization quantization;
};

// Throws CheckpointError. generation_config.json may be missing.
CheckpointConfig read_config(const std::filesystem::path& directory);

}  // namespace lockstep::engine
