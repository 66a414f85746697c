// Who waits for whom, told by the order of events.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>

#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/engine/support/reference_file.h"
#include "tests/engine/support/whole_copy.h"

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
  void delta(Delta&&) override {
    deltas.push_back(++order_.now);
    times.push_back(std::chrono::steady_clock::now());
    ++count;
    count.notify_all();
  }
  void done(Reply&&) override {
    end = ++order_.now;
    over.store(true);
    over.notify_all();
  }
  void failed(const RequestError& error) override {
    if (error.kind != RequestError::Kind::cancelled) FAIL_CHECK(error.what());
    done({});
  }

  void wait_for(int tokens) {
    for (int seen = count; seen < tokens; seen = count) count.wait(seen);
  }

  std::atomic<int> count = 0;  // of deltas
  // Of the engine's thread until `over`.
  std::vector<int> reads, deltas;
  std::vector<std::chrono::steady_clock::time_point> times;  // of deltas
  int end = 0;
  std::atomic<bool> over = false;

 private:
  Order& order_;
};

std::pair<std::shared_ptr<Numbered>, JobId> submit(Engine& engine, Order& order, int prompt, int reply) {
  auto sink = std::make_shared<Numbered>(order);
  Job job;
  job.prompt.tokens.resize(prompt);
  for (int i = 0; i < prompt; ++i) job.prompt.tokens[i] = (i + prompt % 7) % 2000;
  job.sampling.max_tokens = reply;
  job.sampling.ignore_end = true;
  job.sampling.draft = Sampling::Draft::never;
  job.sink = sink;
  return {sink, engine.submit(std::move(job))};
}

// Order of events while a stream decodes, a long prompt comes, and then a short one.
struct Meeting {
  std::shared_ptr<Numbered> stream, longest, shortest;
  Meeting(Engine& engine, int prompt, int alone) {
    // Its reply ends when it has been alone for some tokens, however many rounds the prompt took.
    const auto [first, id] = submit(engine, order_, 8, 60000);
    stream = first;
    longest = submit(engine, order_, prompt, 2).first;
    shortest = submit(engine, order_, 20, 2).first;
    for (const auto& sink : {longest, shortest}) sink->over.wait(false);
    stream->wait_for(stream->count + alone);
    engine.cancel(id);
    stream->over.wait(false);
  }

  // Pieces of the long prompt between which the stream got no token.
  int frozen() const {
    int without = 0;
    for (size_t i = 1; i < longest->reads.size(); ++i) {
      const auto after = std::ranges::upper_bound(stream->deltas, longest->reads[i - 1]);
      if (longest->reads[i - 1] < stream->deltas.front()) continue;
      if (after != stream->deltas.end() && *after > longest->reads[i] && stream->end > longest->reads[i])
        ++without;
    }
    return without;
  }

  // The stream's worst gap while the prompt was read, in those without one: a figure, which decides nothing.
  double worst_in_normal_ones() const {
    std::vector<double> beside, alone;
    for (size_t i = 1; i < stream->times.size(); ++i) {
      const double gap = std::chrono::duration<double>(stream->times[i] - stream->times[i - 1]).count();
      (stream->deltas[i - 1] < longest->reads.back() ? beside : alone).push_back(gap);
    }
    std::ranges::sort(alone);
    return *std::ranges::max_element(beside) / alone[alone.size() / 2];
  }

 private:
  Order order_;
};

}  // namespace

TEST_CASE(
    "F73 a long prompt stops nobody: streams get a token a round, a short prompt that came later is first") {
  const WholeCopy model(test_models()[1].directory, 65536);
  Options options;
  options.model = model.directory();
  options.lanes = 3;
  const auto engine = open_engine(options);
  const Meeting meeting(*engine, 3000, 20);
  REQUIRE(meeting.longest->reads.size() > 10);
  CHECK(meeting.shortest->end < meeting.longest->reads.back());
  // The order within one round is the order of arrival, so each gap holds exactly one token.
  CHECK(meeting.frozen() == 0);
}

TEST_CASE("F73 the worst gap of a stream while 3,000 tokens are read, on the starter", "[.long]") {
  const WholeCopy model(test_models().front().directory, 65536);
  Options options;
  options.model = model.directory();
  const auto engine = open_engine(options);
  for (int run = 0; run < 5; ++run) {
    const Meeting meeting(*engine, 3000 + run, 300);
    CHECK(meeting.frozen() == 0);
    CHECK(meeting.shortest->end < meeting.longest->reads.back());
    std::cout << "worst gap beside the prompt: " << meeting.worst_in_normal_ones() << " normal ones\n";
  }
}
