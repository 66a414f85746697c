// What `lockstepd bench model` prints, and where its bytes come from.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/bench/serve.h"
#include "engine/engine.h"
#include "engine/models/weights.h"
#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/tools/synthetic.h"

using namespace lockstep;
using namespace lockstep::engine;

namespace {

std::string bench(const std::filesystem::path& model, int context) {
  Options options;
  options.model = model;
  options.context = context;
  options.memory = uint64_t{2} << 30;
  std::ostringstream out;
  bench_model(out, options);
  return out.str();
}

}  // namespace

TEST_CASE("bench model prints both sides of every line, and says what it leaves out") {
  const std::string text = bench(LOCKSTEP_SOURCE_DIR "/tests/data/tiny-moe", 64);
  INFO(text);
  int decoded = 0, left_out = 0;
  double linear = 0, all = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    double streams, before, speed, time, weights, states, kv, rate, copy, ratio;
    if (words >> streams >> before >> speed >> time >> weights >> states >> kv >> rate >> copy >> ratio) {
      ++decoded;
      // As printed: rounded.
      const double bytes = weights + states + kv;
      CHECK(std::fabs(speed * time / 1e3 - streams) <= (0.06 * time + 0.0006 * speed) / 1e3);
      CHECK(rate + 0.06 >= (bytes - 0.2) / (time + 0.0006));
      CHECK(rate - 0.06 <= (bytes + 0.2) / (time - 0.0006));
      CHECK(ratio + 0.06 >= 100 * (rate - 0.06) / (copy + 0.06));
      CHECK(ratio - 0.06 <= 100 * (rate + 0.06) / std::max(copy - 0.06, 1e-9));
      CHECK(copy > 0);
    }
    left_out += line.find("left out: requests have room for 64 positions") != line.npos;
    std::istringstream kernel(line);
    std::string name;
    double launches, milliseconds;
    if (kernel >> name >> launches >> milliseconds && !std::isdigit(name[0]) && line.ends_with(" %")) {
      all += milliseconds;
      if (name == "linear" || name == "swiglu") linear += milliseconds;
    }
    if (line.starts_with("linear layers together")) {
      double together;
      CHECK(std::istringstream(line.substr(22)) >> together);
      CHECK(std::fabs(together - linear) < 0.2);
      CHECK(linear < all);
    }
  }
  CHECK(decoded == 5);
  CHECK(left_out == 2);  // 32,768 tokens of prompt, and 65,536 before a reply
  CHECK(linear > 0);
  CHECK(text.find("did not stay") == std::string::npos);
}

TEST_CASE("a round takes all weights but the table of tokens, and of experts those of its rows") {
  for (const char* name : {"w6", "moe-mixed"}) {  // without a multi-token head, the output is no table
    INFO(name);
    const Checkpoint checkpoint = Checkpoint::open(tools::synthetic(name));
    const auto device = kernels::open_device("auto");
    const Weights weights = load_weights(*device, checkpoint, [](int) {});
    const Footprint sizes = footprint_of(weights, checkpoint.config());
    CHECK(sizes.weights + sizes.experts + weights.embedding->bytes == weights.bytes);
    const auto all = static_cast<double>(sizes.weights), experts = static_cast<double>(sizes.experts);
    CHECK((experts > 0) == (name == std::string("moe-mixed")));
    CHECK(std::fabs(sizes.weights_of(1) - (all + experts * 3 / 12)) < 1);
    CHECK(std::fabs(sizes.weights_of(2) - (all + experts * (1 - 9.0 * 9.0 / 144))) < 1);
    CHECK(std::fabs(sizes.weights_of(1000) - (all + experts)) < 1);
  }
}

TEST_CASE("a job that asks for it has the times of kernels in its reply, and no other") {
  Options options;
  options.model = LOCKSTEP_SOURCE_DIR "/tests/data/tiny-dense";
  options.memory = uint64_t{1} << 30;
  const auto engine = test::open_engine(options);
  BenchJob timed{{1, 2, 3}, {}, true}, plain{{1, 2, 3}, {}};
  timed.sampling.max_tokens = plain.sampling.max_tokens = 2;
  for (int i = 0; i < 2; ++i) {
    const Reply reply = serve(*engine, {&timed, 1}).front();
    REQUIRE(!reply.kernel_times.empty());
    for (const KernelTime& one : reply.kernel_times) {
      INFO(one.name);
      CHECK(one.launches > 0);
      CHECK(one.launches < 400);  // of this job alone
      CHECK(one.linear == (one.name == "linear" || one.name == "swiglu"));
    }
    CHECK(serve(*engine, {&plain, 1}).front().kernel_times.empty());
  }
}
