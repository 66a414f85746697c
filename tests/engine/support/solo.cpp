#include "tests/engine/support/solo.h"

#include <algorithm>
#include <numeric>

namespace lockstep::test {

using namespace engine;

namespace {
constexpr int draft_rows = 72;
}

Solo::Solo(const std::filesystem::path& model, const std::string& device, int context, int rows)
    : checkpoint_(Checkpoint::open(model)),
      device_(kernels::open_device(device)),
      weights_(load_weights(*device_, checkpoint_, [](int) {})) {
  const int pages = (context + kernels::page_positions - 1) / kernels::page_positions;
  forward_ = std::make_unique<Forward>(*device_, checkpoint_.config(), weights_,
                                       Capacity{.rows = rows,
                                                .draft_rows = draft_rows,
                                                .logit_rows = std::max(rows, draft_rows),
                                                .lanes = 1,
                                                .lane_pages = pages});
  forward_->allocate(2, pages);
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

void Solo::feed_guessed(std::span<const int32_t> tokens, int drafts, int stands) {
  Batch batch;
  batch.add(tokens, position_, pages_, 0, drafts);
  forward_->run(batch);
  forward_->settle(batch, {{stands}});
  position_ += stands;
}

std::vector<int32_t> Solo::guesses(std::span<const int32_t> tokens, int from) {
  feed_all(tokens);
  const auto rows = [&](int first, int count) {
    Batch batch;
    batch.add(tokens.subspan(first + 1, count), first, pages_, 0);
    std::vector<int32_t> hidden(count);
    std::iota(hidden.begin(), hidden.end(), first);
    return std::pair(batch, hidden);
  };
  // Row p has the token of p + 1.
  const auto [history, history_hidden] = rows(0, from - 1);
  forward_->read_draft(history, history_hidden);
  const int count = static_cast<int>(tokens.size()) - from;
  auto [batch, hidden] = rows(from - 1, count);
  for (int row = 0; row < count; ++row) batch.logit_rows.push_back(row);
  forward_->draft(batch, hidden);
  const size_t vocabulary = forward_->draft_vocabulary();
  std::vector<float> logits(count * vocabulary);
  device_->download(logits.data(), forward_->logits(), logits.size() * sizeof(float));
  std::vector<int32_t> guesses;
  for (int row = 0; row < count; ++row)
    guesses.push_back(largest(std::span(logits).subspan(row * vocabulary, vocabulary)));
  return guesses;
}

int32_t largest(std::span<const float> logits) {
  return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace lockstep::test
