// What identifies a model in receipts, snapshots and caches.
#pragma once

#include <string>

#include "engine/files/model_config.h"
#include "engine/files/weight_files.h"

namespace lockstep::engine {

// The text that the fingerprint is the SHA-256 of: lines of "key value" for what shapes the computation, then
// one line a tensor in order of canonical name:
//   tensor model.norm.weight BF16 512 <SHA-256 of its bytes, hex>
// Limits and defaults (max_position_embeddings, sampling) are not part of it. Reads every tensor, with as
// many threads as the machine has CPUs, 8 at most. Throws CheckpointError.
std::string fingerprint_text(const ModelConfig& config, const WeightFiles& files);

// Lower-case hex of the SHA-256.
std::string sha256(std::string_view text);

}  // namespace lockstep::engine
