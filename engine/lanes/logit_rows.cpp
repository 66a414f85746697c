#include "engine/lanes/logit_rows.h"

namespace lockstep::engine {

LogitRows::LogitRows(kernels::Device& device, int most_rows)
    : device_(device),
      id_(device, size_t(most_rows) * kernels::most_candidates),
      finite_(device, most_rows),
      logit_(device, size_t(most_rows) * kernels::most_candidates),
      maximum_(device, most_rows),
      log_sum_(device, most_rows) {}

void LogitRows::read(const float* logits, int rows, int vocabulary, int count) {
  logits_ = logits;
  vocabulary_ = vocabulary;
  count_ = count;
  device_.run(kernels::Candidates{rows, vocabulary_, count, logits, id_.data(), logit_.data(),
                                  maximum_.data(), log_sum_.data(), finite_.data()});
  id_host_ = id_.download(0, size_t(rows) * count);
  logit_host_ = logit_.download(0, size_t(rows) * count);
  maximum_host_ = maximum_.download(0, rows);
  log_sum_host_ = log_sum_.download(0, rows);
  finite_host_ = finite_.download(0, rows);
}

LogitRow LogitRows::row(int row) const {
  const size_t first = size_t(row) * count_;
  return {std::span(id_host_).subspan(first, count_), std::span(logit_host_).subspan(first, count_),
          maximum_host_[row], log_sum_host_[row], [this, row] {
            std::vector<float> all(vocabulary_);
            device_.download(all.data(), logits_ + size_t(row) * vocabulary_, all.size() * sizeof(float));
            return all;
          }};
}

}  // namespace lockstep::engine
