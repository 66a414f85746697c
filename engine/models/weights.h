// A model's weights, packed for one device. Names follow the checkpoint's modules.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/files/checkpoint.h"
#include "engine/measures.h"
#include "engine/memory/device_array.h"

namespace lockstep::engine {

using MatrixPtr = std::unique_ptr<kernels::Matrix>;
using DeviceFloats = DeviceArray<float>;

struct DeltaWeights {  // gated delta rule
  MatrixPtr qkv, z, b, a, out;
  DeviceFloats conv;  // [channels][taps]
  DeviceFloats a_log, dt_bias;
  DeviceFloats norm;
};
struct AttentionWeights {
  MatrixPtr q_gate, k, v, out;
  DeviceFloats q_norm, k_norm;
};
struct DenseWeights {
  MatrixPtr gate_up, down;
};
struct ExpertWeights {
  MatrixPtr router, gate_up, down;  // gate_up and down: stacks
  MatrixPtr shared_gate_up, shared_down, shared_gate;
};
struct LayerWeights {
  DeviceFloats input_norm, post_norm;
  std::variant<DeltaWeights, AttentionWeights> mixer;
  std::variant<DenseWeights, ExpertWeights> feed_forward;
};

// The multi-token head: a guess at the token after next, from a position's hidden row and its next token.
struct DraftWeights {
  DeviceFloats embedding_norm, hidden_norm;
  MatrixPtr join;      // [hidden][2 * hidden]: of the token's embedding, then the hidden row, both normed
  LayerWeights layer;  // full attention
  DeviceFloats norm;
  MatrixPtr output;  // the first rows of the model's own, coarse: frequent tokens come first in a vocabulary
};

struct Weights {
  MatrixPtr embedding, head;  // head is null when it is the embedding
  DeviceFloats norm;
  DeviceFloats inverse_frequency;  // [rotary_dim/2]
  std::vector<LayerWeights> layers;
  std::optional<DraftWeights> draft;  // if the checkpoint has a multi-token head
  uint64_t bytes = 0;                 // device memory of everything above

  const kernels::Matrix& output() const { return head ? *head : *embedding; }
};

// Reads and packs layer by layer; `layer_done(i)` after each. Throws CheckpointError, kernels::OutOfMemory.
Weights load_weights(kernels::Device&, const Checkpoint&, const std::function<void(int)>& layer_done);

// What a round reads of the weights, the multi-token head aside; the rest of a Footprint is left as it is.
Footprint footprint_of(const Weights&, const ModelConfig&);

// Rotary frequencies theta^(-2i/dim), i < dim/2, by IEEE double operations that give the same bits anywhere.
std::vector<float> rotary_frequencies(double theta, int dim);

}  // namespace lockstep::engine
