#include "engine/files/tensor_names.h"

namespace lockstep::engine {

std::string canonical_name(std::string_view name) {
  for (std::string_view prefix : {"model.language_model.", "language_model."})
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  for (std::string_view part : {"layers.", "embed_tokens.", "norm."})
    if (name.starts_with(part)) return "model." + std::string(name);
  return std::string(name);
}

bool is_vision(std::string_view name) {
  return name.starts_with("vision_tower.") || name.starts_with("model.visual.") ||
         name.starts_with("visual.");
}

}  // namespace lockstep::engine
