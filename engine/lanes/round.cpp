// One round: Runner's members that run on every turn.
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/lanes/runner.h"
#include "engine/lanes/token_hash.h"

namespace lockstep::engine {
namespace {

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Batch Runner::assemble() {
  std::vector<LaneNeed> needs;
  bool reading = false;
  int decoding = 0, rows_with_guesses = 0;
  for (const auto& lane : active_) {
    needs.push_back({lane->pending(), lane->done, lane->id});
    if (lane->pending() == 1)
      ++decoding;
    else
      reading = true;
    rows_with_guesses += 1 + static_cast<int>(lane->guesses.size());
  }
  // Guesses are not worth their rows beside a prompt, which uses the device's arithmetic as it is.
  if (reading || rows_with_guesses > limits_.draft_rows)
    for (const auto& lane : active_) lane->drop_guesses();
  std::vector<std::pair<Lane*, int>> wanted;
  for (const LaneShare& share : plan(needs, pace_.limit(decoding ? costs_.round.at(decoding) : 0)))
    wanted.emplace_back(active_[share.lane].get(), share.rows);
  // Pages for the oldest first: a younger lane is set aside before it is part of the batch.
  std::ranges::sort(wanted, {}, [](const auto& share) { return share.first->id; });
  // Logits beyond a row for each lane, for prompts that are scored.
  int spare = std::max(limits_.lanes, limits_.draft_rows) - static_cast<int>(active_.size());
  for (auto& [lane, rows] : wanted) {
    if (lane->scoring()) rows = std::min(rows, 1 + spare);
    if (!lane->borders.empty()) rows = std::min(rows, lane->borders.front().position - lane->done);
    if (lane->slot < 0 || !reserve(*lane, lane->done + rows)) rows = 0;
    if (lane->scoring()) spare -= std::max(rows - 1, 0);
  }
  std::erase_if(wanted, [](const auto& share) { return share.second == 0 || share.first->slot < 0; });
  std::ranges::stable_partition(wanted, [](const auto& share) { return !share.first->guesses.empty(); });
  Batch batch;
  shares_.clear();
  for (auto [lane, rows] : wanted) {
    const int guesses = static_cast<int>(lane->guesses.size());
    std::vector<int32_t> tokens(lane->tokens.begin() + lane->done, lane->tokens.begin() + lane->done + rows);
    tokens.insert(tokens.end(), lane->guesses.begin(), lane->guesses.end());
    batch.add(tokens, lane->done, lane->pages, lane->slot, guesses);
    Share share{lane, batch.sequences.back()};
    const bool last = rows == lane->pending();
    const int told = lane->scoring() ? rows : last;
    if (told > 0) {
      share.first_row = static_cast<int>(batch.logit_rows.size());
      for (int row = batch.rows() - guesses - told; row < batch.rows(); ++row)
        batch.logit_rows.push_back(row);
      if (last) share.first_logit = share.first_row + told - 1;
    }
    shares_.push_back(std::move(share));
  }
  return batch;
}

bool Runner::turn() {
  admit();
  land();
  if (courier_) courier_->turn();
  if (active_.empty()) return false;
  Batch batch = assemble();
  int decoded = 0;
  PromptWork prompts;
  batch.candidates = 1;
  for (const Share& share : shares_) {
    if (share.lane->pending() == 1) {
      decoded += share.rows.rows;
    } else {
      prompts.add(share.rows.rows, share.rows.first_position);
    }
    if (share.first_row >= 0)
      batch.candidates = std::max(batch.candidates, share.lane->chooser->candidates_wanted());
  }
  const auto start = Clock::now();
  forward_.run(batch);
  if (batch.logit_rows.empty())
    device_.wait();
  else
    logits_.read(static_cast<int>(batch.logit_rows.size()), config_.vocabulary, batch.candidates);
  choose_tokens();
  std::vector<int> stands;
  for (const Share& share : shares_) stands.push_back(share.stands);
  forward_.settle(batch, stands);
  const double time = seconds(Clock::now() - start);
  // Guesses are replayed by the next round, so a round tells what one like it takes only after one like it.
  const bool guessed = !batch.sequences.empty() && batch.sequences.front().keep == 0;
  const bool alike = std::exchange(guessed_, guessed) == guessed;
  if (alike && decoded == batch.rows()) costs_.measured_round(batch.rows(), time);
  ++counts_.rounds;
  end_round();
  if (prompts.rows > 0)
    pace_.measured(prompts, seconds(Clock::now() - start) - (decoded ? costs_.round.at(decoded) : 0));
  // A prompt that is alone would wait for new memory sooner or later; a stream beside the next one need not.
  if (decoded == 0 && std::ranges::any_of(active_, [](const auto& lane) { return lane->pending() > 1; }))
    make_ready();
  return true;
}

// Gives every lane that is due its next tokens: one, and one more for each guess that was right.
void Runner::choose_tokens() {
  for (Share& share : shares_) {
    Lane& lane = *share.lane;
    const int before = lane.done, guesses = static_cast<int>(lane.guesses.size());
    share.stands = share.rows.rows;
    if (lane.scoring()) score_prompt(share);
    if (share.first_logit >= 0) {
      int right = 0;
      while (next_token(share, share.first_logit + right) && right < guesses &&
             lane.tokens.back() == lane.guesses[right])
        ++right;
      share.stands -= guesses - right;
      if (head_) head_->learn(lane, right, right + !share.over);
      counts_.guessed += guesses;
      counts_.guessed_right += right;
      for (int i = 0; i < guesses; ++i) {
        ++counts_.drafts[i].guessed;
        counts_.drafts[i].right += i < right;
      }
      lane.forget_guesses();
    }
    lane.done = before + share.stands;
    if (before < lane.prompt_tokens()) {
      counts_.prompt_tokens += std::min(lane.done, lane.prompt_tokens()) - before;
      lane.job.sink->progress(std::min(lane.done, lane.prompt_tokens()), lane.prompt_tokens());
    }
  }
}

// Tells the log-probabilities of the prompt's tokens that follow this round's rows.
void Runner::score_prompt(const Share& share) {
  Lane& lane = *share.lane;
  const std::vector<int32_t>& prompt = lane.job.prompt.tokens;
  const auto name = [&](int32_t token) { return std::string(tokenizer_.bytes(token)); };
  Delta delta;
  if (lane.scored == 0)
    delta.prompt.push_back({prompt[0], name(prompt[0]), std::numeric_limits<float>::quiet_NaN(), {}});
  lane.scored = std::max(lane.scored, 1);
  for (int i = 0; i < share.rows.rows && lane.scoring(); ++i) {
    if (lane.done + i + 1 != lane.scored) continue;  // told before the lane was set aside
    const int32_t token = prompt[lane.scored++];
    const LogitRow row = logits_.row(share.first_row + i);
    const auto at = std::ranges::find(row.id, token);
    const float logit = at == row.id.end() ? row.all()[token] : row.logit[at - row.id.begin()];
    if (std::optional<TokenLogprob> told = describe(lane, {token, logit}, row)) {
      told->bytes = name(token);
      delta.prompt.push_back(std::move(*told));
    }
  }
  lane.job.sink->delta(std::move(delta));
}

// False when the reply is over.
bool Runner::next_token(Share& share, int row) {
  Lane& lane = *share.lane;
  std::optional<Choice> choice;
  std::string trouble = "the request's biases and form leave no token to choose";
  const LogitRow logits = logits_.row(row);
  try {
    if (logits_.finite(row))
      choice = lane.chooser->choose(logits, lane.tokens.size());
    else
      trouble = "the model produced a number that is not finite";
  } catch (const FormError& error) {
    trouble = error.what();
  }
  if (!choice) {
    ++counts_.failed;
    lane.job.sink->failed({RequestError::Kind::failed, trouble});
    share.over = true;
    return false;
  }
  lane.chooser->accept(choice->token);
  return append(share, choice->token, describe(lane, *choice, logits));
}

// The token's log-probability and its alternatives, if the request wants them: the model's own.
std::optional<TokenLogprob> Runner::describe(const Lane& lane, const Choice& choice,
                                             const LogitRow& row) const {
  const int wanted = lane.job.sampling.top_logprobs;
  if (wanted < 0) return std::nullopt;
  const auto of = [&](float logit) { return (logit - row.maximum) - row.log_sum; };
  const bool text = !tokenizer_.special(choice.token);
  TokenLogprob logprob{
      choice.token, std::string(text ? tokenizer_.bytes(choice.token) : ""), of(choice.logit), {}};
  for (size_t k = 0; k < std::min(size_t(wanted), row.id.size()); ++k)
    logprob.top.push_back({row.id[k], std::string(tokenizer_.bytes(row.id[k])), of(row.logit[k])});
  return logprob;
}

// Adds a token to the reply. False when the reply is over.
bool Runner::append(Share& share, int32_t token, std::optional<TokenLogprob> logprob) {
  Lane& lane = *share.lane;
  if (lane.reply.tokens.empty()) lane.first_token = Clock::now();
  lane.tokens.push_back(token);
  lane.copies.extend(lane.tokens);
  lane.reply.tokens.push_back(token);
  ++counts_.reply_tokens;
  Delta delta;
  if (logprob) delta.logprobs.push_back(std::move(*logprob));
  const bool may_end = !lane.job.sampling.ignore_end || lane.job.prompt.form;
  const bool ended = may_end && std::ranges::count(config_.end_tokens, token);
  if (ended || !lane.writer->push(token, delta))
    share.finish = Finish::stop;
  else if (static_cast<int>(lane.reply.tokens.size()) >= lane.most_tokens)
    share.finish = Finish::length;
  if (!share.finish) {
    lane.job.sink->delta(std::move(delta));
    return true;
  }
  share.over = true;
  share.last = std::move(delta);
  return false;
}

// Keeps what is worth keeping, ends what is over, and guesses for the next round.
void Runner::end_round() {
  const auto at_border = [](const Lane& lane) {
    return !lane.borders.empty() && lane.done == lane.borders.front().position;
  };
  for (Share& share : shares_) share.kept = share.finish || at_border(*share.lane);
  if (head_) head_->read_now(stood_of([](const Share& share) { return share.kept; }));
  for (Share& share : shares_) {
    Lane& lane = *share.lane;
    if (at_border(lane)) {
      const bool system = lane.borders.front().system;
      keep(lane, system);
      lane.borders.erase(lane.borders.begin());
      // On disk: what is shared, and the last place from which a next turn can go on.
      if (system || lane.borders.empty()) save(lane, system);
    }
    if (share.finish) finish(share);
  }
  draft();
  for (Share& share : shares_) {
    if (!share.over) continue;
    release(*share.lane);
    std::erase_if(active_, [&](const auto& lane) { return lane.get() == share.lane; });
  }
}

void Runner::finish(Share& share) {
  Lane& lane = *share.lane;
  keep(lane, false);
  lane.writer->finish(share.last);
  Reply& reply = lane.reply;
  reply.finish = share.finish == Finish::stop && lane.writer->called() ? Finish::tool_calls : *share.finish;
  reply.stop = lane.writer->stop();
  reply.prompt_tokens = lane.prompt_tokens();
  reply.reasoning_tokens = lane.writer->reasoning_tokens();
  reply.token_sha = token_sha(reply.tokens);
  reply.queue_seconds = seconds(lane.admitted - lane.arrived);
  reply.prompt_seconds = seconds(lane.first_token - lane.admitted);
  reply.decode_seconds = seconds(Clock::now() - lane.first_token);
  if (lane.job.time_kernels)
    for (kernels::KernelTime& one : device_.kernel_times())
      reply.kernel_times.push_back({std::move(one.name), one.linear, one.launches, one.seconds});
  ++counts_.served;
  lane.job.sink->delta(std::move(share.last));
  lane.job.sink->done(std::move(reply));
  save(lane, false);
}

}  // namespace lockstep::engine
