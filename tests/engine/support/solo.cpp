#include "tests/engine/support/solo.h"

#include <algorithm>
#include <numeric>

namespace lockstep::test {

using namespace engine;

Solo::Solo(const std::filesystem::path& model, const std::string& device, int context, int rows)
    : checkpoint_(Checkpoint::open(model)),
      device_(kernels::open_device(device)),
      weights_(load_weights(*device_, checkpoint_, [](int) {})) {
  const int pages = (context + kernels::page_positions - 1) / kernels::page_positions;
  forward_ =
      std::make_unique<Forward>(*device_, checkpoint_.config(), weights_, Capacity{rows, rows, 1, pages});
  forward_->allocate(1, pages);
  // Pages in an order that a contiguous cache would get wrong.
  pages_.resize(pages);
  std::iota(pages_.rbegin(), pages_.rend(), 0);
}

std::vector<float> Solo::feed(std::span<const int32_t> tokens, int chunk) {
  const size_t vocabulary = config().vocabulary;
  std::vector<float> logits(vocabulary);
  while (!tokens.empty()) {
    const auto part = tokens.first(std::min<size_t>(chunk, tokens.size()));
    tokens = tokens.subspan(part.size());
    Batch batch;
    batch.add(part, position_, pages_, 0);
    if (tokens.empty()) batch.logit_rows.push_back(batch.rows() - 1);
    forward_->run(batch);
    position_ += batch.rows();
  }
  device_->download(logits.data(), forward_->logits(), logits.size() * sizeof(float));
  return logits;
}

std::vector<float> Solo::feed_all(std::span<const int32_t> tokens) {
  Batch batch;
  batch.add(tokens, position_, pages_, 0);
  for (int row = 0; row < batch.rows(); ++row) batch.logit_rows.push_back(row);
  forward_->run(batch);
  position_ += batch.rows();
  std::vector<float> logits(tokens.size() * config().vocabulary);
  device_->download(logits.data(), forward_->logits(), logits.size() * sizeof(float));
  return logits;
}

int32_t largest(std::span<const float> logits) {
  return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace lockstep::test
