#include "engine/lanes/runner.h"

#include <algorithm>
#include <numeric>

#include "engine/lanes/token_hash.h"

namespace lockstep::engine {
namespace {

constexpr int most_candidates = 256;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

int pages_for(int positions) { return (positions + kernels::page_positions - 1) / kernels::page_positions; }

std::vector<int> slots_from(int first, int count) {
  std::vector<int> slots(count);
  std::iota(slots.begin(), slots.end(), first);
  return slots;
}

}  // namespace

Runner::Runner(kernels::Device& device, const ModelConfig& config, const Tokenizer& tokenizer,
               Forward& forward, const Limits& limits)
    : device_(device),
      config_(config),
      tokenizer_(tokenizer),
      forward_(forward),
      limits_(limits),
      pace_(limits.chunk),
      pages_(limits.pages),
      cache_(pages_, slots_from(limits.lanes, limits.cache_slots), limits.cache_pages),
      message_start_(tokenizer.id("<|im_start|>")),
      candidate_id_(device, size_t(limits.lanes) * most_candidates),
      finite_(device, limits.lanes),
      candidate_logit_(device, size_t(limits.lanes) * most_candidates),
      maximum_(device, limits.lanes),
      log_sum_(device, limits.lanes) {
  for (int slot = limits.lanes - 1; slot >= 0; --slot) free_slots_.push_back(slot);
}

void Runner::submit(std::unique_ptr<Lane> lane) {
  // Those that were set aside have begun: they stay in front.
  const auto later = [&](const std::unique_ptr<Lane>& one) {
    return one->admitted == Clock::time_point{} && one->job.sampling.priority > lane->job.sampling.priority;
  };
  waiting_.insert(std::ranges::find_if(waiting_, later), std::move(lane));
}

void Runner::cancel(JobId id) {
  const auto same = [id](const std::unique_ptr<Lane>& lane) { return lane->id == id; };
  std::unique_ptr<Lane> lane;
  if (auto at = std::ranges::find_if(waiting_, same); at != waiting_.end()) {
    lane = std::move(*at);
    waiting_.erase(at);
  } else if (auto running = std::ranges::find_if(active_, same); running != active_.end()) {
    lane = std::move(*running);
    active_.erase(running);
    release(*lane);
  } else {
    return;
  }
  ++counts_.cancelled;
  lane->job.sink->failed({RequestError::Kind::cancelled, "the request was cancelled"});
}

void Runner::fail_all(const RequestError& error) {
  for (auto& lane : active_) {
    release(*lane);
    waiting_.push_back(std::move(lane));
  }
  active_.clear();
  for (auto& lane : waiting_) {
    ++counts_.failed;
    lane->job.sink->failed(error);
  }
  waiting_.clear();
}

void Runner::admit() {
  while (!waiting_.empty() && !free_slots_.empty()) {
    Lane& lane = *waiting_.front();
    // A lane that was set aside before comes back only when it can go on without pushing others out.
    if (!active_.empty() && !free_pages(pages_for(static_cast<int>(lane.tokens.size()) + 1))) return;
    lane.slot = free_slots_.back();
    free_slots_.pop_back();
    const bool again = lane.admitted != Clock::time_point{};
    if (!again) lane.admitted = Clock::now();
    resume(lane);
    if (!again) lane.reply.cached_tokens = lane.done;
    active_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

// Begins with the longest prefix that the cache knows.
void Runner::resume(Lane& lane) {
  if (const PromptCache::Entry* entry = cache_.find(lane.tokens)) {
    lane.done = static_cast<int>(entry->tokens.size());
    lane.pages = entry->pages;
    pages_.share(lane.pages);
    forward_.copy_state(entry->slot, lane.slot);
    // The lane will write into the page that its prefix ends in: it takes a copy, unless there is no room.
    if (lane.done % kernels::page_positions != 0) {
      std::vector<int32_t> shared = {lane.pages.back()};
      lane.pages.pop_back();
      if (free_pages(1)) {
        lane.pages.push_back(pages_.take());
        forward_.copy_page(shared[0], lane.pages.back());
      } else {
        pages_.give_back(lane.pages);
        lane.done = 0;
      }
      pages_.give_back(shared);
    }
  }
  lane.borders.clear();
  for (const Border& border : borders(std::span(lane.tokens).first(lane.prompt_tokens()), message_start_))
    if (border.position > lane.done && !cache_.has(std::span(lane.tokens).first(border.position)))
      lane.borders.push_back(border);
}

// Keeps what the model knows after the lane's `done` tokens.
void Runner::keep(const Lane& lane, bool system) {
  const auto prefix = std::span(lane.tokens).first(lane.done);
  if (cache_.has(prefix)) return;
  const auto pages = std::span(lane.pages).first(pages_for(lane.done));
  const int slot = cache_.make_room(pages);
  if (slot < 0) return;
  forward_.copy_state(lane.slot, slot);
  cache_.add(prefix, pages, slot, system);
}

// Makes the cache give up entries until so many pages are free.
bool Runner::free_pages(int count) {
  while (pages_.available() < count)
    if (!cache_.evict()) return false;
  return true;
}

void Runner::release(Lane& lane) {
  pages_.give_back(lane.pages);
  if (lane.slot >= 0) free_slots_.push_back(lane.slot);
  lane.slot = -1;
  lane.done = 0;
}

// Takes a lane's memory away; it will read its tokens again, to the same bits.
void Runner::set_aside(Lane& lane) {
  const auto at = std::ranges::find_if(active_, [&](const auto& other) { return other.get() == &lane; });
  release(lane);
  waiting_.push_front(std::move(*at));
  active_.erase(at);
}

// Pages for the lane's first `positions` positions; false when younger lanes hold too few to take.
bool Runner::reserve(Lane& lane, int positions) {
  while (static_cast<int>(lane.pages.size()) < pages_for(positions)) {
    if (!free_pages(1)) {
      Lane* youngest =
          std::ranges::max_element(active_, {}, [](const auto& other) { return other->id; })->get();
      set_aside(*youngest);
      if (youngest == &lane) return false;
      continue;
    }
    lane.pages.push_back(pages_.take());
  }
  return true;
}

Batch Runner::assemble() {
  std::vector<LaneNeed> needs;
  bool decoding = false;
  for (const auto& lane : active_) {
    needs.push_back({lane->pending(), lane->id});
    decoding |= lane->pending() == 1;
  }
  std::vector<std::pair<Lane*, int>> wanted;
  for (const LaneShare& share : plan(needs, pace_.prompt_rows(decoding)))
    wanted.emplace_back(active_[share.lane].get(), share.rows);
  // The oldest first, so that a younger lane is set aside before it is part of the batch.
  std::ranges::sort(wanted, {}, [](const auto& share) { return share.first->id; });
  Batch batch;
  shares_.clear();
  for (auto [lane, rows] : wanted) {
    if (!lane->borders.empty()) rows = std::min(rows, lane->borders.front().position - lane->done);
    if (lane->slot < 0 || !reserve(*lane, lane->done + rows)) continue;
    batch.add(std::span(lane->tokens).subspan(lane->done, rows), lane->done, lane->pages, lane->slot);
    if (rows == lane->pending()) batch.logit_rows.push_back(batch.rows() - 1);
    shares_.push_back(lane);
  }
  return batch;
}

bool Runner::turn() {
  admit();
  if (active_.empty()) return false;
  const Batch batch = assemble();
  const auto start = Clock::now();
  forward_.run(batch);
  choose_tokens(batch);
  int decoding = 0;
  for (const kernels::Sequence& sequence : batch.sequences) decoding += sequence.rows == 1;
  pace_.measured(seconds(Clock::now() - start), decoding, batch.rows() - decoding);
  ++counts_.rounds;
  return true;
}

// Reads the round's candidates, moves every lane on, and gives each lane that is due its next token.
void Runner::choose_tokens(const Batch& batch) {
  const int rows = static_cast<int>(batch.logit_rows.size()), vocabulary = config_.vocabulary;
  std::vector<Lane*> due;
  int count = 1;
  for (size_t i = 0; i < shares_.size(); ++i) {
    Lane& lane = *shares_[i];
    if (batch.sequences[i].rows < lane.pending()) continue;
    due.push_back(&lane);
    count = std::max(count, lane.chooser->candidates_wanted());
  }
  std::vector<int32_t> id, finite;
  std::vector<float> logit, maximum, log_sum;
  if (rows) {
    device_.run(kernels::Candidates{rows, vocabulary, count, forward_.logits(), candidate_id_.data(),
                                    candidate_logit_.data(), maximum_.data(), log_sum_.data(),
                                    finite_.data()});
    id = candidate_id_.download(0, size_t(rows) * count);
    logit = candidate_logit_.download(0, size_t(rows) * count);
    maximum = maximum_.download(0, rows);
    log_sum = log_sum_.download(0, rows);
    finite = finite_.download(0, rows);
  } else {
    device_.wait();
  }

  for (size_t i = 0; i < shares_.size(); ++i) {
    Lane& lane = *shares_[i];
    const int before = lane.done;
    lane.done += batch.sequences[i].rows;
    if (before < lane.prompt_tokens()) {
      counts_.prompt_tokens += std::min(lane.done, lane.prompt_tokens()) - before;
      lane.job.sink->progress(std::min(lane.done, lane.prompt_tokens()), lane.prompt_tokens());
    }
    if (!lane.borders.empty() && lane.done == lane.borders.front().position) {
      keep(lane, lane.borders.front().system);
      lane.borders.erase(lane.borders.begin());
    }
  }
  std::vector<Lane*> over;
  for (int row = 0; row < rows; ++row) {
    Lane& lane = *due[row];
    if (!finite[row]) {
      ++counts_.failed;
      lane.job.sink->failed({RequestError::Kind::failed, "the model produced a number that is not finite"});
      over.push_back(&lane);
      continue;
    }
    LogitRow logits{std::span(id).subspan(size_t(row) * count, count),
                    std::span(logit).subspan(size_t(row) * count, count), maximum[row], log_sum[row], [&] {
                      std::vector<float> all(vocabulary);
                      device_.download(all.data(), forward_.logits() + size_t(row) * vocabulary,
                                       all.size() * sizeof(float));
                      return all;
                    }};
    std::optional<Choice> choice;
    std::string trouble = "the request's biases and form leave no token to choose";
    try {
      choice = lane.chooser->choose(logits, lane.tokens.size());
    } catch (const FormError& error) {
      trouble = error.what();
    }
    if (!choice) {
      ++counts_.failed;
      lane.job.sink->failed({RequestError::Kind::failed, trouble});
      over.push_back(&lane);
      continue;
    }
    lane.chooser->accept(choice->token);
    std::optional<TokenLogprob> logprob = describe(lane, *choice, logits);
    if (!append(lane, choice->token, std::move(logprob))) over.push_back(&lane);
  }
  for (Lane* lane : over) {
    release(*lane);
    std::erase_if(active_, [&](const auto& other) { return other.get() == lane; });
  }
}

// The token's log-probability and its alternatives, if the request wants them: the model's own.
std::optional<TokenLogprob> Runner::describe(const Lane& lane, const Choice& choice,
                                             const LogitRow& row) const {
  const int wanted = lane.job.sampling.top_logprobs;
  if (wanted < 0) return std::nullopt;
  const auto of = [&](float logit) { return (logit - row.maximum) - row.log_sum; };
  TokenLogprob logprob{choice.token, std::string(tokenizer_.bytes(choice.token)), of(choice.logit), {}};
  for (size_t k = 0; k < std::min(size_t(wanted), row.id.size()); ++k)
    logprob.top.push_back({row.id[k], std::string(tokenizer_.bytes(row.id[k])), of(row.logit[k])});
  return logprob;
}

// Adds a token to the reply. False when the reply is over; its sink has had its last call then.
bool Runner::append(Lane& lane, int32_t token, std::optional<TokenLogprob> logprob) {
  if (lane.reply.tokens.empty()) lane.first_token = Clock::now();
  lane.tokens.push_back(token);
  lane.reply.tokens.push_back(token);
  ++counts_.reply_tokens;
  Delta delta;
  if (logprob) delta.logprobs.push_back(std::move(*logprob));
  const bool may_end = !lane.job.sampling.ignore_end || lane.job.prompt.form;
  const bool ended = may_end && std::ranges::count(config_.end_tokens, token);
  if (ended || !lane.writer->push(token, delta)) {
    finish(lane, Finish::stop, std::move(delta));
    return false;
  }
  if (static_cast<int>(lane.reply.tokens.size()) >= lane.most_tokens) {
    finish(lane, Finish::length, std::move(delta));
    return false;
  }
  lane.job.sink->delta(std::move(delta));
  return true;
}

void Runner::finish(Lane& lane, Finish how, Delta&& last) {
  keep(lane, false);
  lane.writer->finish(last);
  Reply& reply = lane.reply;
  reply.finish = how == Finish::stop && lane.writer->called() ? Finish::tool_calls : how;
  reply.stop = lane.writer->stop();
  reply.prompt_tokens = lane.prompt_tokens();
  reply.reasoning_tokens = lane.writer->reasoning_tokens();
  reply.token_sha = token_sha(reply.tokens);
  reply.queue_seconds = seconds(lane.admitted - lane.arrived);
  reply.prompt_seconds = seconds(lane.first_token - lane.admitted);
  reply.decode_seconds = seconds(Clock::now() - lane.first_token);
  ++counts_.served;
  lane.job.sink->delta(std::move(last));
  lane.job.sink->done(std::move(reply));
}

}  // namespace lockstep::engine
