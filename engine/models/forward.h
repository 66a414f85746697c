// The forward pass of the Qwen3.5 families: rows of many lanes through all layers in one go.
//
// Threads: the engine's thread only. Memory is taken at construction and by allocate().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/models/rows.h"
#include "engine/models/weights.h"

namespace lockstep::engine {

// One round's rows, in host memory.
struct Batch {
  std::vector<int32_t> tokens, positions, row_sequence;  // [rows]
  std::vector<kernels::Sequence> sequences;
  std::vector<int32_t> pages;       // page tables, see Sequence::page_table
  std::vector<int32_t> logit_rows;  // rows whose logits are wanted

  // Adds a lane's rows; page_table holds a page for each 64 positions up to the last row's.
  void add(std::span<const int32_t> lane_tokens, int first_position, std::span<const int32_t> page_table,
           int slot);
  int rows() const { return static_cast<int>(tokens.size()); }
};

// The largest batch a Forward takes.
struct Capacity {
  int rows = 0;
  int logit_rows = 0;
  int lanes = 0;       // sequences of a round
  int lane_pages = 0;  // KV pages of one lane
};

class Forward {
 public:
  Forward(kernels::Device&, const ModelConfig&, const Weights&, const Capacity&);
  ~Forward();

  uint64_t scratch_bytes() const;
  uint64_t state_bytes() const;  // the recurrent state of one lane, in every layer
  uint64_t page_bytes() const;   // one KV page in every attention layer
  // Takes the memory for so many recurrent states (slots) and pages; called once, before run().
  void allocate(int slots, int pages);

  void copy_state(int from, int to);         // slots
  void copy_page(int32_t from, int32_t to);  // pages
  // Runs the batch; pages and recurrent states of its lanes advance by their rows.
  void run(const Batch&);
  // Of the last run, in device memory: [batch.logit_rows][vocabulary].
  const float* logits() const;

 private:
  struct Scratch;
  size_t conv_state() const;  // floats of one lane and layer
  size_t delta_state() const;
  void upload(const Batch&);
  void mix(const DeltaWeights&, size_t index);
  void mix(const AttentionWeights&, size_t index);
  void feed(const DenseWeights&);
  void feed(const ExpertWeights&);

  kernels::Device& device_;
  const ModelConfig& config_;
  const Weights& weights_;
  const kernels::AttentionShape attention_;
  const kernels::DeltaShape delta_;
  kernels::Round round_;
  std::unique_ptr<Scratch> scratch_;
  std::vector<DeviceArray<float>> conv_states_, delta_states_;  // of each delta layer: [slots][…]
  std::vector<DeviceArray<std::byte>> pages_;                   // of each attention layer: [pages][page]
};

}  // namespace lockstep::engine
