// Who waits for whom, told by the order of events.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/engine/support/reference_file.h"

using namespace lockstep::engine;
using namespace lockstep::test;

namespace {

// Numbers every event of several requests in the order in which the engine gave them.
struct Order {
  std::atomic<int> now = 0;
};

class Numbered final : public Sink {
 public:
  explicit Numbered(Order& order) : order_(order) {}
  void progress(int, int) override { reads.push_back(++order_.now); }
  void delta(Delta&&) override { deltas.push_back(++order_.now); }
  void done(Reply&&) override {
    end = ++order_.now;
    over.store(true);
    over.notify_all();
  }
  void failed(const RequestError& error) override {
    FAIL_CHECK(error.what());
    done({});
  }

  // Of the engine's thread until `over`.
  std::vector<int> reads, deltas;
  int end = 0;
  std::atomic<bool> over = false;

 private:
  Order& order_;
};

std::shared_ptr<Numbered> submit(Engine& engine, Order& order, int prompt, int reply) {
  auto sink = std::make_shared<Numbered>(order);
  Job job;
  job.prompt.tokens.resize(prompt);
  std::iota(job.prompt.tokens.begin(), job.prompt.tokens.end(), prompt % 7);
  job.sampling.max_tokens = reply;
  job.sampling.ignore_end = true;
  job.sampling.draft = Sampling::Draft::never;
  job.sink = sink;
  engine.submit(std::move(job));
  return sink;
}

}  // namespace

TEST_CASE(
    "F73 a long prompt stops nobody: streams get a token a round, a short prompt that came later is first") {
  Options options;
  options.model = test_models()[1].directory;
  options.lanes = 3;
  options.chunk = 64;
  const auto engine = open_engine(options);
  Order order;
  const auto stream = submit(*engine, order, 8, 1500), longest = submit(*engine, order, 1500, 2),
             shortest = submit(*engine, order, 20, 2);
  for (const auto& sink : {stream, longest, shortest}) sink->over.wait(false);
  REQUIRE(longest->reads.size() > 10);
  CHECK(shortest->end < longest->reads.back());
  // Between two pieces of the long prompt the stream has its token, once it has begun.
  int without = 0;
  for (size_t i = 1; i < longest->reads.size(); ++i) {
    const auto after = std::ranges::upper_bound(stream->deltas, longest->reads[i - 1]);
    if (longest->reads[i - 1] < stream->deltas.front()) continue;
    if (after != stream->deltas.end() && *after > longest->reads[i] && stream->end > longest->reads[i])
      ++without;
  }
  // The order within one round is the order of arrival, so each gap holds exactly one token.
  CHECK(without == 0);
}
