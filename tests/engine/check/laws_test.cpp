#include "engine/check/laws.h"

#include <atomic>

#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/engine/support/reference_file.h"

using namespace lockstep::engine;
using namespace lockstep::test;

namespace {

// An engine that says something else where a law should hold.
class Liar final : public Engine {
 public:
  enum class Lie { none, drafted, together, resumed };
  Liar(Engine& inner, Lie lie) : inner_(inner), lie_(lie) {}

  const ModelInfo& model() const override { return inner_.model(); }
  Sampling default_sampling() const override { return inner_.default_sampling(); }
  Prompt prepare(const Conversation& c) const override { return inner_.prepare(c); }
  std::string render(const Conversation& c) const override { return inner_.render(c); }
  std::vector<int32_t> tokenize(std::string_view text, bool special) const override {
    return inner_.tokenize(text, special);
  }
  std::string detokenize(std::span<const int32_t> ids) const override { return inner_.detokenize(ids); }
  JobId submit(Job job) override {
    const bool drafted = lie_ == Lie::drafted && job.sampling.draft == Sampling::Draft::spoiled;
    const bool together = lie_ == Lie::together && ++running_ > 1;
    job.sink = std::make_shared<Twisted>(*this, std::move(job.sink), drafted || together);
    return inner_.submit(std::move(job));
  }
  void cancel(JobId id) override { inner_.cancel(id); }
  Status status() const override { return inner_.status(); }
  void on_beat(std::function<void()> beat) override { inner_.on_beat(std::move(beat)); }
  void on_notice(std::function<void(const Notice&)> notice) override { inner_.on_notice(std::move(notice)); }

 private:
  struct Twisted final : Sink {
    Twisted(Liar& l, std::shared_ptr<Sink> s, bool t) : liar(l), sink(std::move(s)), twist(t) {}
    void progress(int read, int total) override { sink->progress(read, total); }
    void delta(Delta&& delta) override { sink->delta(std::move(delta)); }
    void done(Reply&& reply) override {
      if (liar.lie_ == Lie::together) --liar.running_;
      if (twist || (liar.lie_ == Lie::resumed && reply.cached_tokens > 0)) reply.tokens.back() ^= 1;
      sink->done(std::move(reply));
    }
    void failed(const RequestError& error) override { sink->failed(error); }
    Liar& liar;
    std::shared_ptr<Sink> sink;
    bool twist;
  };
  Engine& inner_;
  const Lie lie_;
  std::atomic<int> running_ = 0;
};

// The laws that did not hold.
std::vector<std::string> broken(Engine& engine, Liar::Lie lie) {
  Liar liar(engine, lie);
  std::vector<std::string> names;
  const auto laws = check_served(liar, 6, 3, [](const LawCount&) { return true; });
  REQUIRE(laws.size() == 4);
  for (const LawCount& law : laws) {
    CHECK(law.passed + law.failed == 6);
    CHECK(law.skipped.empty());
    if (law.failed > 0) names.push_back(law.law);
  }
  return names;
}

}  // namespace

TEST_CASE("a check finds the law that is broken, and no other") {
  Options options;
  options.model = test_models()[1].directory;
  const auto engine = open_engine(options);
  using Lie = Liar::Lie;
  CHECK(broken(*engine, Lie::none).empty());
  CHECK(broken(*engine, Lie::drafted) ==
        std::vector<std::string>{"drafted = undrafted", "concurrent = solo"});
  CHECK(broken(*engine, Lie::together) == std::vector<std::string>{"concurrent = solo", "chunked = whole"});
  CHECK(broken(*engine, Lie::resumed) == std::vector<std::string>{"resumed = fresh"});
}

TEST_CASE("a check ends when it is told to") {
  Options options;
  options.model = test_models()[1].directory;
  const auto engine = open_engine(options);
  int told = 0;
  const auto laws = check_served(*engine, 1000, 3, [&](const LawCount&) { return ++told < 3; });
  CHECK(told == 3);
  CHECK(laws.empty());
}
