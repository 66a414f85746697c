// Runner's members that time rounds before the first one, for drafts and prompts to be priced by.
#include <algorithm>
#include <numeric>

#include "engine/lanes/runner.h"

namespace lockstep::engine {
namespace {

// The least of a few times, as seconds: the shorter it is, the more of them a busy machine can spoil.
template <class Run>
double timed(const Run& run) {
  constexpr auto long_enough = std::chrono::milliseconds(30);
  double least = 0;
  const auto start = Clock::now();
  for (int repeat = 0; repeat < 3 || (repeat < 12 && Clock::now() - start < long_enough); ++repeat) {
    const auto began = Clock::now();
    run();
    const double time = std::chrono::duration<double>(Clock::now() - began).count();
    if (repeat == 0 || time < least) least = time;
    if (time > 0.5) break;  // so slow a machine needs no second look
  }
  return least;
}

}  // namespace

void Runner::measure() {
  const auto start = Clock::now();
  std::vector<int32_t> tokens, hidden;
  const int32_t page = 0;
  for (int rows = 1; rows <= limits_.draft_rows && Clock::now() - start < std::chrono::seconds(10);
       rows *= 2) {
    // Distinct tokens: with experts, many rows read more of them than one.
    while (static_cast<int>(tokens.size()) < rows) {
      tokens.push_back(some_token(static_cast<int>(tokens.size())));
      hidden.push_back(static_cast<int32_t>(hidden.size()));
    }
    Batch batch;
    batch.add(tokens, 0, {&page, 1}, 0, rows - 1);
    batch.logit_rows = hidden;
    batch.candidates = 1;
    const auto round = [&] {  // with the replay of the one before
      forward_.run(batch);
      logits_.read(rows, config_.vocabulary, 1);
      forward_.settle(batch, std::vector<int>{rows});
    };
    round();
    costs_.round.measured(rows, timed(round));
    if (head_ && rows <= limits_.lanes)
      costs_.draft.measured(rows, timed([&] {
                              forward_.draft(batch, hidden);
                              logits_.read(rows, forward_.draft_vocabulary(), 1);
                            }));
  }
  measure_prompts();
}

// What prompt rows cost beside a decoding row: at the beginning of a text, and far into it.
void Runner::measure_prompts() {
  constexpr int far = 4096, least_rows = 8;
  constexpr double long_enough = 0.02;  // seconds that tell what many rows cost
  const auto time_of = [&](int rows, int first, const std::vector<int32_t>& pages) {
    std::vector<int32_t> tokens(rows);
    for (int i = 0; i < rows; ++i) tokens[i] = some_token(i);
    Batch batch;
    batch.add(tokens, first, pages, 0);
    return timed([&] {
      forward_.run(batch);
      device_.wait();
    });
  };
  const int most = std::min({limits_.chunk, limits_.context, limits_.pages * kernels::page_positions});
  const double decode = costs_.round.at(1);
  int rows = 0;
  double time = 0;
  PromptCost cost;
  while (rows < most && time < long_enough) {
    rows = rows ? std::min(2 * rows, most) : std::min(least_rows, most);
    std::vector<int32_t> pages(pages_for(rows));
    std::iota(pages.begin(), pages.end(), 0);
    time = time_of(rows, 0, pages);
    cost.row = std::max((time - decode) / rows, time / rows / 16);
  }
  // Attention reads one page again and again in place of the prefix that is not there.
  const int few = std::min(rows, kernels::page_positions);
  const int first = std::min(far, limits_.context - few) / kernels::page_positions * kernels::page_positions;
  const std::vector<int32_t> one_page(pages_for(first + few), 0);
  const double more = first > 0 ? time_of(few, first, one_page) - time_of(few, 0, {0}) : 0;
  // Never nothing: far enough in, attention is what counts.
  cost.position = std::max(more / few / std::max(first, 1), cost.row / (1 << 17));
  pace_.begin(cost);
}

// Distinct for small numbers.
int32_t Runner::some_token(int number) const {
  return static_cast<int32_t>((size_t(number) * 7919 + 101) % static_cast<size_t>(config_.vocabulary));
}

}  // namespace lockstep::engine
