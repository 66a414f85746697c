// `lockstepd check`: the laws, tried on a model with random requests.
#include <algorithm>
#include <functional>
#include <iomanip>
#include <ostream>
#include <random>

#include "engine/check/trial.h"

namespace lockstep::engine {
namespace {

constexpr int together = 16, device_trials = 20;

struct Law {
  std::string name;
  int passed = 0, failed = 0;
  std::string skipped;  // why, if it was
};

std::vector<Trial> trials_of(std::mt19937& random, int count, int longest, const ModelInfo& model) {
  std::vector<Trial> trials;
  for (int i = 0; i < count; ++i) trials.push_back(random_trial(random, longest, model));
  return trials;
}

class Check {
 public:
  Check(std::ostream& out, const Options& options, int trials, unsigned seed)
      : out_(out), options_(options), trials_(trials), seed_(seed), random_(seed) {
    options_.lanes = together;
    served_ = Engine::open(options_, [&](const std::string& line) { out_ << line << "\n"; });
    longest_ = std::min(600, served_->model().context - 64);
    Options plain = options_;
    plain.lanes = 1;
    plain.chunk = 7;
    plain.cache = 1;
    plain_ = Engine::open(plain, [](const std::string&) {});
  }

  bool run() {
    out_ << served_->model().name << " on " << served_->model().device << ", seed " << seed_ << ", "
         << trials_
         << " trials a law; each compares token ids and log-probabilities bit for bit with the same request\n"
         << "alone, undrafted, from nothing, its prompt in chunks of 7\n";
    law("drafted = undrafted", [&](Law& law) { drafted(law); });
    law("concurrent = solo", [&](Law& law) { concurrent(law); });
    law("resumed = fresh", [&](Law& law) { resumed(law); });
    law("chunked = whole", [&](Law& law) { whole(law); });
    for (const std::string& device : devices())
      if (device != served_->model().device && device != "reference")
        law(device + " = " + served_->model().device, [&](Law& law) { on_device(law, device); });
    out_ << (good_ ? "all laws hold\n" : "A LAW IS BROKEN\n");
    return good_;
  }

 private:
  void law(const std::string& name, const std::function<void(Law&)>& tried) {
    Law law{name, 0, 0, ""};
    tried(law);
    out_ << "  " << std::left << std::setw(28) << law.name << std::right;
    if (law.skipped.empty())
      out_ << law.passed << " passed, " << law.failed << " failed" << std::endl;
    else
      out_ << "skipped: " << law.skipped << std::endl;
    good_ = good_ && law.failed == 0;
  }

  void compare(Law& law, const Trial& trial, const Outcome& outcome) {
    const Outcome expected = ask(*plain_, with_draft(trial, Sampling::Draft::never));
    ++(outcome == expected ? law.passed : law.failed);
    if (outcome == expected || law.failed > 3) return;
    out_ << "  " << law.name << ": differs at reply token " << first_difference(outcome, expected)
         << " of a prompt of " << trial.tokens.size() << " tokens\n";
  }

  void drafted(Law& law) {
    for (const Trial& trial : trials_of(random_, trials_, 60, served_->model()))
      compare(law, trial, ask(*served_, with_draft(trial, Sampling::Draft::always)));
  }

  void concurrent(Law& law) {
    for (int done = 0; done < trials_; done += together) {
      const std::vector<Trial> trials =
          trials_of(random_, std::min(together, trials_ - done), 60, served_->model());
      const std::vector<Outcome> outcomes = ask_all(*served_, trials);
      for (size_t i = 0; i < trials.size(); ++i) compare(law, trials[i], outcomes[i]);
    }
  }

  // The reply is asked for once its prompt's first part is known, of 1 token to 3 pages and 16.
  void resumed(Law& law) {
    const int most = std::min(3 * 64 + 16, longest_);
    for (int i = 0; i < trials_; ++i) {
      Trial trial = random_trial(random_, 12, served_->model());
      Trial first = random_trial(random_, 1, served_->model());
      const int shared = 1 + i % most;
      first.tokens = random_tokens(random_, shared, served_->model());
      first.sampling.max_tokens = 1 + i % 5;
      ask(*served_, first);
      trial.tokens.insert(trial.tokens.begin(), first.tokens.begin(), first.tokens.end());
      const Outcome outcome = ask(*served_, trial);
      if (outcome.cached_tokens == 0) {
        law.skipped = "the prompt cache is too small to keep a prefix of " + std::to_string(shared);
        return;
      }
      compare(law, trial, outcome);
    }
  }

  void whole(Law& law) {
    for (const Trial& trial : trials_of(random_, trials_, longest_, served_->model()))
      compare(law, trial, ask(*served_, trial));
  }

  void on_device(Law& law, const std::string& device) {
    Options options = options_;
    options.device = device;
    std::unique_ptr<Engine> engine;
    try {
      engine = Engine::open(options, [](const std::string&) {});
    } catch (const StartError& error) {
      law.skipped = error.what();
      return;
    }
    for (const Trial& trial : trials_of(random_, std::min(trials_, device_trials), longest_, engine->model()))
      compare(law, trial, ask(*engine, trial));
  }

  std::ostream& out_;
  Options options_;
  const int trials_;
  const unsigned seed_;
  std::mt19937 random_;
  std::unique_ptr<Engine> served_, plain_;
  int longest_ = 0;
  bool good_ = true;
};

}  // namespace

bool check_laws(std::ostream& out, const Options& options, int trials, unsigned seed) {
  return Check(out, options, trials, seed).run();
}

}  // namespace lockstep::engine
