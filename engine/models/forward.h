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
  int candidates = 0;               // how many of the largest of each row's logits are wanted

  // Adds a lane's rows; page_table holds a page for each 64 positions up to the last row's. The last `drafts`
  // of the tokens are guesses: the lane's state stays as it was until settle() says how many rows stand.
  // Lanes with drafts come first.
  void add(std::span<const int32_t> lane_tokens, int first_position, std::span<const int32_t> page_table,
           int slot, int drafts = 0);
  int rows() const { return static_cast<int>(tokens.size()); }
};

// The largest batch a Forward takes.
struct Capacity {
  int rows = 0;
  int draft_rows = 0;  // of a batch with drafts, and of draft(); such a batch may want every row's logits
  int logit_rows = 0;
  int lanes = 0;       // sequences of a round
  int lane_pages = 0;  // KV pages of one lane
};

inline constexpr int draft_rows = 32;  // of a round with guesses, all lanes together; one KV page holds more

class Forward {
 public:
  Forward(kernels::Device&, const ModelConfig&, const Weights&, const Capacity&);
  ~Forward();

  int most_rows() const { return capacity_.rows; }
  uint64_t scratch_bytes() const;
  uint64_t state_bytes() const;  // the recurrent state of one lane, in every layer
  uint64_t page_bytes() const;   // one KV page in every attention layer, the multi-token head's too
  Footprint footprint() const;
  // Takes the memory for so many recurrent states (slots) and pages; called once, before run().
  void allocate(int slots, int pages);

  // Makes slots or pages quick to use for the first time; what they hold stays.
  void prepare_states(int first, int count);
  void prepare_pages(int first, int count);
  void copy_state(int from, int to);         // slots
  void copy_page(int32_t from, int32_t to);  // pages
  // As bytes in host memory, state_bytes() and page_bytes() long, in a layout of the device's own.
  void read_state(int slot, std::byte* host);
  void write_state(int slot, const std::byte* host);
  void read_page(int32_t page, std::byte* host) const;
  void write_page(int32_t page, const std::byte* host);
  // Runs the batch; pages and recurrent states of its lanes advance by their rows.
  void run(const Batch&);
  // After run() of a batch with drafts: of sequence i the first stands[i] rows stand, 1 or more; the states
  // of its drafted lanes advance by them before anybody reads them.
  void settle(const Batch&, std::span<const int> stands);
  // Of the logit_rows of the last run(), [][vocabulary], or draft(), [][draft_vocabulary()], in device
  // memory.
  const float* logits() const;
  // Of the same rows, what kernels::Candidates says of them, in host memory: [rows][candidates] ids, as many
  // logits, then each row's maximum, log_sum and finite. Waits; holds until the next call.
  std::span<const std::byte> candidates();

  // The multi-token head, if the checkpoint has one. It is no part of what the model says: it only guesses.
  // A row joins the token of position p + 1 to the hidden row of p, as position p, and guesses the token of
  // p + 2. hidden[i] names row i's hidden row: row h of the last run(), drafted(h) of the last draft(), or
  // held(). Its keys and values lie in pages of its own beside the lanes'.
  bool has_draft_head() const { return weights_.draft.has_value(); }
  int draft_vocabulary() const {
    return weights_.draft->output->outputs;
  }                                                                // it guesses the first tokens only
  void read_draft(const Batch&, std::span<const int32_t> hidden);  // stores keys and values only
  void draft(const Batch&, std::span<const int32_t> hidden);       // and gives logits
  int32_t drafted(int row) const { return capacity_.rows + row; }
  // Hidden rows of the last run() may wait for read_draft(), held_rows of each state slot.
  static constexpr int held_rows = 32;
  void hold(int row, int slot, int index);
  int32_t held(int slot, int index) const {
    return capacity_.rows + capacity_.draft_rows + slot * held_rows + index;
  }

 private:
  struct Scratch;
  struct Recurrence;
  size_t conv_state() const;  // floats of one lane and layer
  size_t delta_state() const;
  template <class Part>  // called with the address in device memory and the bytes of each layer's part
  void each_state_part(int slot, const Part&) const;
  template <class Part>
  void each_page_part(int32_t page, const Part&) const;
  void upload(const Batch&, std::span<const int32_t> hidden = {});
  enum class Work : int32_t { run, run_replaying, replay, read_draft, draft };  // of keys of repeat()
  void repeat(const Batch&, Work, void (Forward::*work)(const Batch&));
  void run_layers(const Batch&);
  void find_candidates(const Batch&, int rows, int vocabulary);
  void begin_draft(const Batch&);
  void read_draft_layer(const Batch&);
  void draft_layer(const Batch&);
  void catch_up();
  void replay(const DeltaWeights&, size_t index);
  void norm_into_hidden(const float* add, const DeviceFloats& weight, const kernels::Matrix& reader);
  void norm_stream(const DeviceFloats& weight, float* out);
  const Recurrence& recurrence(size_t index) const;
  void feed(const LayerWeights&);
  void mix(const DeltaWeights&, size_t index);
  void mix(const AttentionWeights&, size_t index);
  void feed(const DenseWeights&);
  void feed(const ExpertWeights&);

  kernels::Device& device_;
  const ModelConfig& config_;
  const Weights& weights_;
  const Capacity capacity_;
  const kernels::AttentionShape attention_;
  const kernels::DeltaShape delta_;
  kernels::Round round_;
  bool drafted_ = false;    // whether the last run() had drafts
  kernels::Round settled_;  // what settle() told of; without sequences once the states have advanced
  int found_ = 0;           // bytes of candidates
  std::unique_ptr<Scratch> scratch_;
  std::vector<DeviceArray<float>> conv_states_, delta_states_;  // of each delta layer: [slots][…]
  // Of each attention layer, the multi-token head's last: [pages][page].
  std::vector<DeviceArray<std::byte>> pages_;
};

// What serving takes: rounds of `chunk` prompt rows and `lanes` lanes of at most `context` positions.
Capacity serving_capacity(int chunk, int lanes, int context);

}  // namespace lockstep::engine
