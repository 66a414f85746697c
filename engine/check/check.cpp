// `lockstepd check`: the laws, tried on a model with random requests.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iomanip>
#include <ostream>
#include <random>

#include "engine/check/laws.h"
#include "engine/check/scratch_folder.h"

namespace lockstep::engine {
namespace {

constexpr int together = 16, device_trials = 20;

// A process that serves and saves until it is killed: before this one has any thread. `prefixes`: requests
// that it must have answered before. False: it ended by itself.
bool kill_while_saving(const Options& options, unsigned seed, int prefixes) {
  int ends[2];
  if (::pipe(ends) < 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    try {
      const auto engine = Engine::open(options, [](const std::string&) {});
      for (int i = 0;; ++i) {
        // Behind those that are going to be asked for, new ones for ever.
        ask(*engine,
            Laws::first_part(i < prefixes ? seed : seed + static_cast<unsigned>(i), i, engine->model()));
        if (i < prefixes && ::write(ends[1], "", 1) != 1) break;
      }
    } catch (...) {  // the other sees the end of the pipe
    }
    ::_exit(1);
  }
  ::close(ends[1]);
  char byte;
  int answered = 0;
  while (child > 0 && answered < prefixes && ::read(ends[0], &byte, 1) == 1) ++answered;
  ::close(ends[0]);
  if (child < 0) return false;
  ::usleep(seed * 7919u % 50000);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  return answered == prefixes && WIFSIGNALED(status);
}

class Check {
 public:
  Check(std::ostream& out, const Options& options, int trials, unsigned seed)
      : out_(out), options_(options), trials_(trials), seed_(seed), folder_(true) {
    options_.lanes = together;
  }

  bool run() {
    const int prefixes = std::min(trials_, Laws::first_parts);
    Options saving = options_;
    saving.snapshots = folder_.path();
    saving.snapshot_budget = uint64_t(1) << 30;
    const bool killed = kill_while_saving(saving, seed_, prefixes);
    Options plain = options_;
    plain.lanes = 1;
    plain.chunk = 7;
    plain.cache = 1;
    plain_ = Engine::open(plain, [&](const std::string& line) { out_ << line << "\n"; });
    out_ << plain_->model().name << " on " << plain_->model().device << ", seed " << seed_ << ", " << trials_
         << " trials a law; each compares token ids and log-probabilities bit for bit with the same request\n"
         << "alone, undrafted, from nothing, its prompt in chunks of 7\n"
         << std::flush;
    Laws laws(*plain_, {trials_, std::min(600, plain_->model().context - 64), together, 0, false, seed_},
              [](const LawCount&) { return true; });
    laws.on_difference([this](const std::string& text) { out_ << "  " << text << "\n"; });
    restarted(laws, saving, killed);
    const auto served = Engine::open(options_, [](const std::string&) {});
    print(laws.run(*served));
    for (const std::string& device : devices())
      if (device != served->model().device && device != "reference") on_device(laws, device);
    out_ << (good_ ? "all laws hold\n" : "A LAW IS BROKEN\n");
    return good_;
  }

 private:
  void print(const std::vector<LawCount>& counts) {
    for (const LawCount& law : counts) {
      out_ << "  " << std::left << std::setw(28) << law.law << std::right;
      if (law.skipped.empty())
        out_ << law.passed << " passed, " << law.failed << " failed" << std::endl;
      else
        out_ << "skipped: " << law.skipped << std::endl;
      good_ = good_ && law.failed == 0;
    }
  }

  // What a killed process left on disk. Nothing is kept in memory, so that every trial begins there.
  void restarted(Laws& laws, Options options, bool killed) {
    if (!killed) {
      print({{"restarted = fresh", 0, 0, "the process that saves could not be had"}});
      return;
    }
    options.cache = 1;
    const auto engine = Engine::open(options, [](const std::string&) {});
    print({laws.restarted(*engine)});
    const Status::Snapshots disk = engine->status().snapshots;
    out_ << "    after a kill while saving: " << disk.hits << " of " << trials_ << " begun from disk, "
         << disk.corrupt << " files were damaged\n";
  }

  void on_device(Laws& laws, const std::string& device) {
    Options options = options_;
    options.device = device;
    const std::string name = device + " = " + plain_->model().device;
    try {
      const auto engine = Engine::open(options, [](const std::string&) {});
      print({laws.on_device(name, *engine, device_trials)});
    } catch (const StartError& error) {
      print({{name, 0, 0, error.what()}});
    }
  }

  std::ostream& out_;
  Options options_;
  const int trials_;
  const unsigned seed_;
  const ScratchFolder folder_;
  std::unique_ptr<Engine> plain_;
  bool good_ = true;
};

}  // namespace

bool check_laws(std::ostream& out, const Options& options, int trials, unsigned seed) {
  return Check(out, options, trials, seed).run();
}

}  // namespace lockstep::engine
