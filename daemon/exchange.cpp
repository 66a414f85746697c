#include "daemon/exchange.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <random>

#include "daemon/limits.h"

namespace lockstep::daemon {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

std::string new_id() {
  static constexpr char hex[] = "0123456789abcdef";
  static std::random_device source;
  std::string id;
  for (int word = 0; word < 3; ++word) {
    unsigned bits = source();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id += hex[bits & 15];
  }
  return id;
}

struct Prepared {
  openai::Request request;
  std::vector<engine::Prompt> prompts;
};

engine::Prompt text_prompt(const engine::Engine& engine, const openai::TextPrompt& text, bool special) {
  engine::Prompt prompt;
  if (const auto* string = std::get_if<std::string>(&text))
    prompt.tokens = engine.tokenize(*string, special);
  else
    prompt.tokens = std::get<std::vector<int32_t>>(text);
  return prompt;
}

}  // namespace

Exchange::Exchange(Service& service, Peer& peer, Ticket ticket, std::string_view method)
    : service_(service),
      peer_(peer),
      ticket_(std::move(ticket)),
      bridge_(std::make_shared<Bridge>(service.io())),
      id_(new_id()),
      method_(method),
      created_(std::time(nullptr)),
      last_look_(begun_) {
  service_.exchanges_.insert(this);
  bridge_->set_on_overflow([this] {
    too_slow_ = true;
    cancel();
    peer_.hang_up("the client reads too slowly");
  });
}

Exchange::~Exchange() {
  bridge_->set_on_overflow({});
  bridge_->close();
  Account& account = ticket_.account();
  account.prompt_tokens += static_cast<uint64_t>(state_ > State::waiting ? prompt_tokens_ : 0);
  account.reply_tokens += static_cast<uint64_t>(reply_tokens_);
  ++(served_                      ? account.served
     : !jobs_.empty() || ended_   ? account.cancelled
     : state_ == State::preparing ? account.refused
                                  : account.failed);
  cancel();
  service_.exchanges_.erase(this);
}

asio::awaitable<void> Exchange::start(std::function<openai::Request()> read) {
  Service& service = service_;
  auto work = [read = std::move(read), &service]() -> Prepared {
    Prepared prepared{read(), {}};
    const openai::Request& request = prepared.request;
    service.check_model(request.model);
    try {
      for (const openai::TextPrompt& text : request.texts)
        prepared.prompts.push_back(text_prompt(service.engine(), text, request.parse_special));
      if (request.texts.empty()) prepared.prompts.push_back(service.engine().prepare(request.conversation));
      if (!request.known_prompt.empty()) prepared.prompts[0].tokens = request.known_prompt;
    } catch (const engine::RequestError& error) {
      throw openai::from_engine(error);
    }
    return prepared;
  };
  Prepared prepared;
  {
    const Preparing::Place place = co_await service.preparing().take(ticket_.account());
    if (peer_.look() == PeerState::gone) throw PeerGone("the client left before its request was prepared");
    prepared = co_await service.preparing().run(place, std::move(work));
  }
  request_ = std::move(prepared.request);
  unenforced_ = std::move(prepared.prompts[0].unenforced);
  held_to_form_ = prepared.prompts[0].form != nullptr;
  if (request_.receipt) prompt_ = prepared.prompts[0].tokens;
  for (const engine::Prompt& prompt : prepared.prompts)
    prompt_tokens_ += static_cast<int>(prompt.tokens.size());
  if (ended_) throw *ended_;
  if (peer_.look() == PeerState::gone) throw PeerGone("the client left before its request was queued");
  submit(std::move(prepared.prompts));
}

// All jobs or none: what was submitted before a refusal is cancelled.
void Exchange::submit(std::vector<engine::Prompt>&& prompts) {
  const engine::Options& options = service_.configuration().engine;
  int& jobs = ticket_.account().jobs;
  const uint64_t owner = ticket_.account().uid ? uint64_t{*ticket_.account().uid} + 1 : 0;
  int choice = 0;
  try {
    for (const engine::Prompt& prompt : prompts)
      for (int i = 0; i < request_.n; ++i, ++choice) {
        if (jobs >= options.lanes + options.queue - options.queue / 4)
          throw openai::too_many("too many requests of this user are waiting: " + std::to_string(jobs),
                                 "queue_full");
        request_.sampling.choice = i;
        jobs_[choice] = service_.engine().submit({prompt, request_.sampling, bridge_->sink(choice), owner});
        ++jobs;
      }
  } catch (const engine::RequestError& error) {
    cancel();
    openai::ApiError refusal = openai::from_engine(error);
    if (!request_.texts.empty() && refusal.param == "messages") refusal.param = "prompt";
    throw refusal;
  } catch (const openai::ApiError&) {
    cancel();
    throw;
  }
  state_ = State::waiting;
}

void Exchange::job_over(int choice) { ticket_.account().jobs -= static_cast<int>(jobs_.erase(choice)); }

asio::awaitable<std::vector<Event>> Exchange::next(std::chrono::milliseconds most) {
  const auto deadline = steady_clock::now() + most;
  for (;;) {
    if (too_slow_) throw PeerGone("the client reads too slowly");
    if (failure_) throw *failure_;
    if (steady_clock::now() - last_look_ >= limits::peer_check) co_await look_after_peer();
    std::vector<Event> events = bridge_->take();
    if (!events.empty()) settle(events);
    if (!events.empty() || steady_clock::now() >= deadline) co_return events;
    if (!failure_) co_await bridge_->wait(limits::peer_check);
  }
}

// Notes how far the jobs are. An error ends them all and leaves the list with what came after it: it is
// thrown once what came before it has been taken.
void Exchange::settle(std::vector<Event>& events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (std::holds_alternative<Progress>(event)) state_ = std::max(state_, State::reading);
    if (std::holds_alternative<engine::Delta>(event)) {
      note_time(event.choice);
      state_ = State::writing;
      ++reply_tokens_;
    }
    if (const auto* reply = std::get_if<engine::Reply>(&event)) {
      job_over(event.choice);
      finished_tokens_ += static_cast<int>(reply->tokens.size());
      state_ = State::writing;
      served_ = jobs_.empty();
      if (served_) reply_tokens_ = finished_tokens_;
    }
    if (const auto* error = std::get_if<engine::RequestError>(&event)) {
      job_over(event.choice);
      failure_ = ended_ ? *ended_ : openai::from_engine(*error);
      events.erase(events.begin() + static_cast<std::ptrdiff_t>(i), events.end());
      bridge_->close();
      cancel();
      return;
    }
  }
}

void Exchange::note_time(int choice) {
  const auto now = steady_clock::now();
  const auto since = [now](steady_clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  const auto [last, first] = last_delta_.try_emplace(choice, now);
  if (first)
    service_.metrics().first_token(since(begun_));
  else
    service_.metrics().gap(since(std::exchange(last->second, now)));
}

std::string_view Exchange::state() const {
  static constexpr std::array<std::string_view, 4> names{"preparing", "waiting", "reading", "writing"};
  return names[static_cast<std::size_t>(state_)];
}

asio::awaitable<void> Exchange::look_after_peer() {
  last_look_ = steady_clock::now();
  const PeerState state = peer_.look();
  if (state == PeerState::gone) throw PeerGone("the client left");
  if (state == PeerState::half_closed && last_look_ - last_probe_ >= limits::half_closed_probe) {
    last_probe_ = last_look_;
    co_await peer_.probe();
  }
}

openai::ReplyHead Exchange::head() const {
  const engine::ModelInfo& model = service_.engine_->model();
  return {id_,
          created_,
          model.name,
          model.fingerprint,
          model.canon_version,
          request_.sampling.top_logprobs >= 0,
          request_.include_usage,
          request_.choices(),
          request_.n,
          prompt_tokens_,
          request_.sampling,
          held_to_form_};
}

void Exchange::end(openai::ApiError error) {
  if (ended_) return;
  ended_ = std::move(error);
  bridge_->end_with({engine::RequestError::Kind::cancelled, ended_->what()});
  cancel();
}

void Exchange::cancel() {
  for (const auto& [choice, job] : jobs_) service_.engine().cancel(job);
  ticket_.account().jobs -= static_cast<int>(jobs_.size());
  jobs_.clear();
}

std::string notes_on(const engine::Reply& reply) {
  char text[200];
  std::snprintf(
      text, sizeof text, "prompt=%d cached=%d reply=%zu queue=%.3fs read=%.3fs decode=%.3fs finish=%s",
      reply.prompt_tokens, reply.cached_tokens, reply.tokens.size(), reply.queue_seconds,
      reply.prompt_seconds, reply.decode_seconds, std::string(openai::finish_name(reply.finish)).c_str());
  return text;
}

}  // namespace lockstep::daemon
