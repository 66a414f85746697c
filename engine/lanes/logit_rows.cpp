#include "engine/lanes/logit_rows.h"

namespace lockstep::engine {

void LogitRows::read(int rows, int vocabulary, int candidates) {
  vocabulary_ = vocabulary;
  count_ = candidates;
  const size_t count = size_t(rows) * candidates;
  id_ = reinterpret_cast<const int32_t*>(forward_.candidates().data());
  logit_ = reinterpret_cast<const float*>(id_ + count);
  maximum_ = logit_ + count;
  log_sum_ = maximum_ + rows;
  finite_ = reinterpret_cast<const int32_t*>(log_sum_ + rows);
}

LogitRow LogitRows::row(int row) const {
  const size_t first = size_t(row) * count_;
  return {{id_ + first, size_t(count_)},
          {logit_ + first, size_t(count_)},
          maximum_[row],
          log_sum_[row],
          [this, row] {
            std::vector<float> all(vocabulary_);
            device_.download(all.data(), forward_.logits() + size_t(row) * vocabulary_,
                             all.size() * sizeof(float));
            return all;
          }};
}

}  // namespace lockstep::engine
