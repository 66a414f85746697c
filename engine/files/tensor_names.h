// Names of tensors in checkpoint files and their canonical form.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::engine {

// Canonical names begin with "model.", "lm_head." or "mtp.". Files put "language_model." or
// "model.language_model." before them, or nothing; after such a prefix, "model." itself may be left out:
// language_model.model.layers.0.mlp.up_proj.weight, model.language_model.layers.0.mlp.up_proj.weight and
// model.layers.0.mlp.up_proj.weight are the same tensor. A name of no such form comes back unchanged.
std::string canonical_name(std::string_view name);

// A tensor or module of the image encoder, which is never read: names that begin with "vision_tower.",
// "model.visual." or "visual.".
bool is_vision(std::string_view name);

// Of the multi-token head; takes canonical names.
inline bool is_mtp(std::string_view canonical) { return canonical.starts_with("mtp."); }

}  // namespace lockstep::engine
