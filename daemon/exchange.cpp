#include "daemon/exchange.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <ctime>
#include <random>

#include "daemon/limits.h"

namespace lockstep::daemon {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

// Runs `work` on the pool; the caller goes on where it was.
template <typename Work>
asio::awaitable<std::invoke_result_t<Work&>> on_pool(asio::thread_pool& pool, Work work) {
  auto task = [](Work inner) -> asio::awaitable<std::invoke_result_t<Work&>> { co_return inner(); };
  co_return co_await asio::co_spawn(pool, task(std::move(work)), asio::use_awaitable);
}

std::string new_id() {
  static constexpr char hex[] = "0123456789abcdef";
  static std::random_device source;
  std::string id = "chatcmpl-";
  for (int word = 0; word < 3; ++word) {
    unsigned bits = source();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id += hex[bits & 15];
  }
  return id;
}

struct Prepared {
  openai::ChatRequest request;
  engine::Prompt prompt;
};

}  // namespace

Exchange::Exchange(Service& service, Peer& peer, Ticket ticket)
    : service_(service),
      peer_(peer),
      ticket_(std::move(ticket)),
      bridge_(std::make_shared<Bridge>(service.io())),
      id_(new_id()),
      created_(std::time(nullptr)),
      last_look_(steady_clock::now()) {
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
  cancel();
  service_.exchanges_.erase(this);
}

asio::awaitable<void> Exchange::start(std::function<openai::ChatRequest()> read) {
  Service& service = service_;
  auto work = [read = std::move(read), &service]() -> Prepared {
    Prepared prepared{read(), {}};
    service.check_model(prepared.request.model);
    try {
      prepared.prompt = service.engine().prepare(prepared.request.conversation);
    } catch (const engine::RequestError& error) {
      throw openai::from_engine(error);
    }
    return prepared;
  };
  Prepared prepared = co_await on_pool(service.pool(), std::move(work));
  request_ = std::move(prepared.request);
  unenforced_ = std::move(prepared.prompt.unenforced);
  prompt_tokens_ = static_cast<int>(prepared.prompt.tokens.size());
  if (!ended_.empty()) throw shutting_down();
  if (peer_.look() == PeerState::gone) throw PeerGone("the client left before its request was queued");
  try {
    job_ = service_.engine().submit({std::move(prepared.prompt), request_.sampling, bridge_});
  } catch (const engine::RequestError& error) {
    throw openai::from_engine(error);
  }
}

asio::awaitable<std::vector<Event>> Exchange::next() {
  for (;;) {
    if (too_slow_) throw PeerGone("the client reads too slowly");
    if (failure_) throw *failure_;
    if (steady_clock::now() - last_look_ >= limits::peer_check) co_await look_after_peer();
    std::vector<Event> events = bridge_->take();
    if (!events.empty()) settle(events);
    if (!events.empty()) co_return events;
    if (!failure_) co_await bridge_->wait(limits::peer_check);
  }
}

// Notes the job's end. An error leaves the list: it is thrown once what came before it has been taken.
void Exchange::settle(std::vector<Event>& events) {
  const auto* error = std::get_if<engine::RequestError>(&events.back());
  if (error || std::holds_alternative<engine::Reply>(events.back())) job_.reset();
  if (!error) return;
  failure_ = ended_.empty() ? openai::from_engine(*error) : shutting_down();
  events.pop_back();
}

openai::ApiError Exchange::shutting_down() const { return openai::unavailable(ended_, "shutting_down", 5); }

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
  return {
      id_, created_, model.name, model.fingerprint, model.canon_version, request_.sampling.top_logprobs >= 0};
}

void Exchange::end(const std::string& why) {
  if (!ended_.empty()) return;
  ended_ = why;
  bridge_->end_with({engine::RequestError::Kind::cancelled, why});
  cancel();
}

void Exchange::cancel() {
  if (job_) service_.engine().cancel(*std::exchange(job_, std::nullopt));
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
