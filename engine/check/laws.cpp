#include "engine/check/laws.h"

#include <algorithm>

namespace lockstep::engine {
namespace {

constexpr int rest = 12, every_long = 8;  // tokens behind the first part; every so many go up to the longest

// From 1 to `most`: all of them in as many steps, and any few steps are spread over them.
int length_of(int step, int most) { return 1 + static_cast<int>(int64_t(step) * 37 % most); }

Trial forced(Trial trial, int index) {
  trial.sampling.draft = index % 2 ? Sampling::Draft::spoiled : Sampling::Draft::always;
  trial.sampling.draft_depth = 1 + index / 2 % Status::deepest_draft;
  return trial;
}

Trial resuming(Trial trial) {
  trial.sampling.fresh = false;
  return trial;
}

}  // namespace

Laws::Laws(Engine& plain, const Setting& setting, Tell tell)
    : plain_(plain), setting_(setting), tell_(std::move(tell)) {
  std::mt19937 random(setting.seed);
  for (int i = 0; i < setting.trials; ++i) {
    const Trial first = first_part(setting.seed, i, plain.model());
    const int room = setting.longest - static_cast<int>(first.tokens.size());
    Trial trial = random_trial(random, i % every_long ? rest : std::max(rest, room), plain.model());
    trial.tokens.insert(trial.tokens.begin(), first.tokens.begin(), first.tokens.end());
    trial.sampling.priority = setting.priority;
    trial.sampling.fresh = true;
    requests_.push_back({std::move(trial), std::nullopt});
  }
}

Trial Laws::first_part(unsigned seed, int index, const ModelInfo& model) {
  index %= first_parts;
  std::mt19937 random(seed + 7919u * static_cast<unsigned>(index + 1));
  Trial first = random_trial(random, 1, model);
  first.tokens = random_tokens(random, length_of(index, first_parts), model);
  if (index % 2)
    for (size_t i = 9; i < first.tokens.size(); ++i) first.tokens[i] = first.tokens[i - 9];
  first.sampling.max_tokens = 1 + index % 3;
  return first;
}

std::vector<LawCount> Laws::run(Engine& served) {
  std::vector<LawCount> counts;
  try {
    // First, as every request leaves its prompt in the cache.
    counts.push_back(resumed(served));
    counts.push_back(drafted(served));
    counts.push_back(concurrent(served));
    counts.push_back(whole(served));
  } catch (const Stopped&) {  // by `tell`
  }
  return counts;
}

const Outcome& Laws::expected(int index) {
  Request& request = requests_[static_cast<size_t>(index)];
  if (!request.expected) {
    Trial plain = request.trial;
    plain.sampling.draft = Sampling::Draft::never;
    request.expected = ask(plain_, plain);
  }
  return *request.expected;
}

void Laws::compare(LawCount& law, int index, const Outcome& outcome) {
  const bool same = outcome == expected(index);
  ++(same ? law.passed : law.failed);
  if (!same && law.failed <= 3 && differs_)
    differs_(law.law + ": differs at reply token " +
             std::to_string(first_difference(outcome, expected(index))) + " of a prompt of " +
             std::to_string(trial(index).tokens.size()) + " tokens");
  if (tell_ && !tell_(law)) throw Stopped();
}

// Every depth from 1 to the deepest, guesses as good as the drafters make them and spoiled ones in turn.
LawCount Laws::drafted(Engine& served) {
  LawCount law{"drafted = undrafted"};
  for (int i = 0; i < setting_.trials; ++i) compare(law, i, ask(served, forced(trial(i), i)));
  return law;
}

LawCount Laws::concurrent(Engine& served) {
  LawCount law{"concurrent = solo"};
  for (int done = 0; done < setting_.trials; done += setting_.together) {
    const int count = std::min(setting_.together, setting_.trials - done);
    std::vector<Trial> trials;
    for (int i = done; i < done + count; ++i) trials.push_back(i % 4 < 2 ? trial(i) : forced(trial(i), i));
    const std::vector<Outcome> outcomes = ask_all(served, trials);
    for (int i = 0; i < count; ++i) compare(law, done + i, outcomes[static_cast<size_t>(i)]);
  }
  return law;
}

// The reply is asked for once its prompt's first part is known.
LawCount Laws::resumed(Engine& served) {
  LawCount law{"resumed = fresh"};
  for (int i = 0; i < setting_.trials; ++i) {
    Trial first = first_part(setting_.seed, i, served.model());
    first.sampling.priority = setting_.priority;
    ask(served, first);
    const Outcome outcome = ask(served, resuming(trial(i)));
    if (outcome.cached_tokens == 0) {
      law.skipped =
          "the prompt cache is too small to keep a prefix of " + std::to_string(first.tokens.size());
      return law;
    }
    compare(law, i, outcome);
  }
  return law;
}

LawCount Laws::whole(Engine& served) {
  LawCount law{"chunked = whole"};
  std::mt19937 random(setting_.seed);
  for (int i = 0; i < setting_.trials; ++i) {
    if (!setting_.beside_others) {
      compare(law, i, ask(served, trial(i)));
      continue;
    }
    // Another one decodes meanwhile, so that the prompt comes in pieces.
    Trial other = random_trial(random, rest, served.model());
    other.sampling.priority = setting_.priority;
    other.sampling.ignore_end = true;
    other.sampling.max_tokens = 64;
    compare(law, i, ask_all(served, {other, trial(i)})[1]);
  }
  return law;
}

LawCount Laws::restarted(Engine& served) {
  LawCount law{"restarted = fresh"};
  for (int i = 0; i < setting_.trials; ++i) compare(law, i, ask(served, resuming(trial(i))));
  if (served.status().begun_from_disk == 0) law.skipped = "nothing could be kept on disk";
  return law;
}

LawCount Laws::on_device(const std::string& name, Engine& engine, int trials) {
  LawCount law{name};
  for (int i = 0; i < std::min(setting_.trials, trials); ++i) compare(law, i, ask(engine, trial(i)));
  return law;
}

std::vector<LawCount> check_served(Engine& engine, int trials, unsigned seed,
                                   const std::function<bool(const LawCount&)>& tell) {
  constexpr int together = 4, last = Sampling::last_priority + 1;
  const int longest = std::min(600, engine.model().context - 96);
  return Laws(engine, {trials, longest, together, last, true, seed}, tell).run(engine);
}

}  // namespace lockstep::engine
