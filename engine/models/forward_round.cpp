// What surrounds a round's operations: the batch's tables, operations that come again, and candidates.
#include <algorithm>
#include <array>

#include "engine/models/forward_scratch.h"

namespace lockstep::engine {

using namespace kernels;

namespace {

constexpr int most_repeated_rows = 64;  // of batches that come again and again

}  // namespace

void Forward::upload(const Batch& batch, std::span<const int32_t> hidden) {
  Scratch& s = *scratch_;
  s.host_tables.clear();
  const auto place = [&](const auto& values) {
    const auto* words = reinterpret_cast<const int32_t*>(values.data());
    const int32_t* at = s.tables.data() + s.host_tables.size();
    s.host_tables.insert(s.host_tables.end(), words,
                         words + values.size() * sizeof(values[0]) / sizeof(int32_t));
    return at;
  };
  s.tokens = place(batch.tokens);
  s.logit_rows = place(batch.logit_rows);
  s.hidden_rows = place(hidden);
  round_ = {.rows = batch.rows(),
            .sequences = static_cast<int>(batch.sequences.size()),
            .sequence = reinterpret_cast<const Sequence*>(place(batch.sequences)),
            .position = place(batch.positions),
            .row_sequence = place(batch.row_sequence),
            .pages = place(batch.pages)};  // last: their number is no part of a batch's shape
  s.tables.upload(s.host_tables);
  for (const Sequence& sequence : batch.sequences) {
    round_.most_rows = std::max(round_.most_rows, sequence.rows);
    round_.most_positions = std::max(round_.most_positions, sequence.first_position + sequence.rows);
  }
  // Whole spans: so the operations are the same for the next rows too.
  constexpr int span = page_positions * span_pages;
  round_.most_positions = (round_.most_positions + span - 1) / span * span;
}

// Does work, as one start of the device where it decodes: then the next batches have the same shape.
void Forward::repeat(const Batch& batch, Work kind, void (Forward::*work)(const Batch&)) {
  if (round_.rows > most_repeated_rows) return (this->*work)(batch);
  const std::array<int32_t, 8> key = {static_cast<int32_t>(kind),
                                      drafted_,
                                      round_.rows,
                                      round_.sequences,
                                      round_.most_rows,
                                      round_.most_positions,
                                      static_cast<int32_t>(batch.logit_rows.size()),
                                      batch.candidates};
  device_.repeat(key, [&] { (this->*work)(batch); });
}

void Forward::find_candidates(const Batch& batch, int rows, int vocabulary) {
  if (!batch.candidates) return;
  Scratch& s = *scratch_;
  const size_t count = size_t(rows) * batch.candidates;
  auto* id = reinterpret_cast<int32_t*>(s.candidates.data());
  auto* logit = reinterpret_cast<float*>(id + count);
  device_.run(Candidates{rows, vocabulary, batch.candidates, s.logits.data(), id, logit, logit + count,
                         logit + count + rows, reinterpret_cast<int32_t*>(logit + count + 2 * rows)});
}

std::span<const std::byte> Forward::candidates() {
  Scratch& s = *scratch_;
  device_.download(s.host_candidates.data(), s.candidates.data(), found_);
  return std::span(s.host_candidates).first(found_);
}

}  // namespace lockstep::engine
