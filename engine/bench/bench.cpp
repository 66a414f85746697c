// `lockstepd bench kernels` and `bench model`: how fast this machine runs the operations and a model.
#include <algorithm>
#include <iomanip>
#include <ostream>

#include "engine/bench/serve.h"
#include "kernels/kernels.h"

namespace lockstep::engine {
namespace {

// Requests of so many random tokens; undrafted, as random text says nothing about drafts.
std::vector<BenchJob> jobs(const Engine& engine, int streams, int prompt, int reply, int variant) {
  std::vector<BenchJob> some(streams);
  for (int i = 0; i < streams; ++i) {
    some[i].tokens = text_of(prompt, variant * 64 + i, engine.model().vocabulary);
    some[i].sampling.temperature = 0;
    some[i].sampling.max_tokens = reply;
    some[i].sampling.ignore_end = true;
    some[i].sampling.draft = Sampling::Draft::never;
  }
  return some;
}

}  // namespace

bool self_test(std::ostream& out, const std::string& device, int threads) {
  try {
    return kernels::self_test(out, device, threads);
  } catch (const kernels::DeviceError& e) {
    throw StartError(StartError::Kind::device, e.what());
  }
}

void bench_kernels(std::ostream& out, const std::string& device, int threads) {
  try {
    kernels::bench_kernels(out, device, threads);
  } catch (const kernels::DeviceError& e) {
    throw StartError(StartError::Kind::device, e.what());
  }
}

void bench_model(std::ostream& out, const Options& options) {
  constexpr int runs = 5, reply = 128;
  const auto engine = Engine::open(options, [&](const std::string& line) { out << line << "\n"; });
  const int prompt = std::min(512, engine->model().context / 2);
  out << engine->model().name << ", " << runs << " runs each, medians, without drafts\n"
      << std::fixed << std::setprecision(1);
  std::vector<double> speeds;
  for (int run = 0; run < runs; ++run) {
    const std::vector<Reply> replies = serve(*engine, jobs(*engine, 1, prompt, 1, run));
    speeds.push_back(prompt / replies[0].prompt_seconds);
  }
  out << std::setw(28) << "prompt of " + std::to_string(prompt) + " tokens" << std::setw(10) << median(speeds)
      << " tokens/s\n";
  for (int streams : {1, 4, 8}) {
    if (streams > options.lanes) break;
    speeds.clear();
    for (int run = 0; run < runs; ++run)
      speeds.push_back(decode_speed(serve(*engine, jobs(*engine, streams, 16, reply, run))));
    out << std::setw(28) << "decode, " + std::to_string(streams) + (streams == 1 ? " stream" : " streams")
        << std::setw(10) << median(speeds) << " tokens/s\n";
  }
}

}  // namespace lockstep::engine
