// Which files of a checkpoint directory hold its weights, and where each tensor is.
//
// * With model.safetensors.index.json: the files its weight_map names, each holding exactly the tensors that
//   are mapped to it. The names are plain file names in the directory (which may be symbolic links).
// * Without: model.safetensors alone.
// * Beside either may lie one more *.safetensors file, whatever its name (mtp.safetensors is usual), if all
//   its tensors are of the multi-token head.
// Any other *.safetensors file in the directory is refused: it may be a second set of weights.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/files/safetensors.h"

namespace lockstep::engine {

inline constexpr size_t most_weight_files = 1000;

struct WeightFiles {
  struct Place {
    const SafetensorsFile* file;
    const SafetensorsFile::Tensor* tensor;
  };
  std::vector<SafetensorsFile> files;                 // open; not changed any more, the places point into it
  std::map<std::string, Place, std::less<>> tensors;  // by canonical name; the image encoder's left out
};

// Throws CheckpointError: a file missing, damaged or too many, a tensor in two places, one that the index
// does not map or maps wrongly.
WeightFiles open_weight_files(const std::filesystem::path& directory);

}  // namespace lockstep::engine
