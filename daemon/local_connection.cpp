#include "daemon/local_connection.h"

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "daemon/exchange.h"
#include "daemon/limits.h"
#include "daemon/local_messages.h"
#include "daemon/log.h"
#include "daemon/receipts.h"

namespace lockstep::daemon {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

// The bytes of a chat's replies that `event` makes; empty: none.
std::string reply_bytes(Event&& event, bool more, LocalWhole& whole, const openai::ReplyHead& head,
                        const Exchange& exchange) {
  if (const auto* progress = std::get_if<Progress>(&event))
    return more ? ipc::progress_reply({progress->read, progress->total}) : std::string();
  if (auto* delta = std::get_if<engine::Delta>(&event)) {
    const bool visible = !delta->content.empty() || !delta->reasoning.empty() || !delta->calls.empty();
    if (more && visible) return ipc::delta_reply(to_local(std::move(*delta)));
    if (!more) whole.add(std::move(*delta));
    return {};
  }
  const engine::Reply& reply = std::get<engine::Reply>(event);
  ipc::Final final = to_local(head, reply);
  if (exchange.request().receipt) final.receipt = receipt_of(exchange, reply);
  if (!more) final.whole = whole.take(head);
  return ipc::final_reply(final);
}

}  // namespace

LocalConnection::LocalConnection(Server& server, Service& service, Socket socket)
    : ServedConnection(server, socket),
      service_(service),
      stream_(std::move(socket)),
      peer_(describe_peer(stream_.socket().native_handle())),
      room_(service, account()),
      pause_(stream_.get_executor()) {}

asio::awaitable<void> LocalConnection::run(std::shared_ptr<LocalConnection> self) {
  try {
    co_await self->serve_calls();
  } catch (const ipc::ProtocolError& error) {
    log_info("local call refused " + self->peer_ + " " + error.what());
  } catch (const PeerGone& gone) {
    log_info("local call cancelled " + self->peer_ + " " + gone.what());
  } catch (const boost::system::system_error& failed) {
    log_info("local connection broke " + self->peer_ + " " +
             (self->broken_.empty() ? failed.code().message() : self->broken_));
  }
  self->stream_.close();
}

asio::awaitable<void> LocalConnection::serve_calls() {
  due_ = steady_clock::now() + limits::idle;
  while (!finishing_) {
    const std::optional<std::string> message = frames_.next();
    if (!message) {
      const bool more = co_await read();
      if (!more) co_return;
      continue;
    }
    const auto call = ipc::read_call(*message, LOCKSTEP_VERSION);
    if (const auto* answered = std::get_if<ipc::Answer>(&call)) {
      if (!answered->bytes.empty()) co_await write(answered->bytes);
    } else {
      co_await answer(std::get<ipc::Call>(call));
    }
    due_ = steady_clock::now() + (frames_.held() > 0 ? limits::body_read : limits::idle);
  }
}

// False: the client has no more to say.
asio::awaitable<bool> LocalConnection::read() {
  std::array<char, 16384> bytes;
  boost::system::error_code failed;
  set_idle(true);
  room_.resize(frames_.held());
  stream_.expires_at(due_);
  const auto space = asio::buffer(bytes);
  const std::size_t count =
      co_await stream_.async_read_some(space, asio::redirect_error(asio::use_awaitable, failed));
  set_idle(false);
  if (failed) co_return false;
  if (frames_.held() == 0) due_ = steady_clock::now() + limits::body_read;
  std::optional<ipc::Error> refusal;
  try {
    room_.resize(frames_.held() + count);
  } catch (const openai::ApiError& error) {
    refusal = to_local(error);
  }
  if (refusal) {
    // Nobody knows where the refused message ends: the connection ends with its answer.
    co_await write(ipc::error_reply(*refusal));
    throw ipc::ProtocolError(refusal->message);
  }
  frames_.push({bytes.data(), count});
  co_return true;
}

asio::awaitable<void> LocalConnection::answer(const ipc::Call& call) {
  // What is read on the pool outlives that: the caller waits for it.
  const engine::Sampling& defaults = service_.default_sampling();
  if (const auto* chat = std::get_if<ipc::Chat>(&call.what)) {
    ReadRequest read = [chat, &defaults] { return to_request(*chat, defaults); };
    RunRequest run = [&](Exchange& exchange) { return run_request(exchange, read, call.more); };
    co_await answer_request("Chat", std::move(run));
  } else if (const auto* complete = std::get_if<ipc::Complete>(&call.what)) {
    ReadRequest read = [complete, &defaults] { return to_request(*complete, defaults); };
    RunRequest run = [&](Exchange& exchange) { return run_request(exchange, read, call.more); };
    co_await answer_request("Complete", std::move(run));
  } else if (const auto* verify = std::get_if<ipc::Verify>(&call.what)) {
    RunRequest run = [&](Exchange& exchange) { return run_verify(exchange, verify->receipt, call.more); };
    co_await answer_request("Verify", std::move(run));
  } else if (const auto* tokenize = std::get_if<ipc::Tokenize>(&call.what)) {
    co_await answer_tokenize(*tokenize);
  } else if (const auto* cancel = std::get_if<ipc::Cancel>(&call.what)) {
    co_await answer_cancel(*cancel, call.oneway);
  } else if (std::holds_alternative<ipc::ModelsQuery>(call.what)) {
    co_await write(ipc::models_reply(local_models(service_)));
  } else if (std::holds_alternative<ipc::SnapshotsQuery>(call.what)) {
    co_await answer_snapshots();
  } else if (const auto* check = std::get_if<ipc::Check>(&call.what)) {
    co_await answer_check(*check, call.more);
  } else {
    co_await answer_status(call.more);
  }
}

asio::awaitable<void> LocalConnection::answer_request(std::string_view method, RunRequest run) {
  std::optional<ipc::Error> refusal;
  try {
    // The message is held already, and room_ has counted it.
    Exchange exchange(service_, *this, service_.admit(account(), 0), method);
    try {
      const std::string notes = co_await run(exchange);
      log_info("local " + std::string(method) + " " + exchange.id() + " " + peer_ + " " + notes);
    } catch (const openai::ApiError& error) {
      refusal = to_local(error);
      refusal->given = exchange.prompt_tokens();
      refusal->limit = service_.engine().model().context;
    }
  } catch (const openai::ApiError& error) {
    refusal = to_local(error);
  }
  if (!refusal) co_return;
  log_info("local " + std::string(method) + " refused " + peer_ + " " + refusal->message);
  co_await write(ipc::error_reply(*refusal));
}

asio::awaitable<std::string> LocalConnection::run_request(Exchange& exchange, ReadRequest read, bool more) {
  co_await exchange.start(std::move(read));
  const openai::ReplyHead head = exchange.head();
  LocalWhole whole;
  std::string notes;
  // GCC 12 destroys a temporary in a co_await's arguments twice: whatever is not trivial has a name.
  const ipc::Accepted accepted{exchange.id(), exchange.prompt_tokens()};
  if (more) co_await write(ipc::accepted_reply(accepted));
  while (notes.empty()) {
    std::vector<Event> events = co_await exchange.next();
    std::string out;
    for (Event& event : events) {
      if (const auto* reply = std::get_if<engine::Reply>(&event)) notes = notes_on(*reply);
      out += reply_bytes(std::move(event), more, whole, head, exchange);
    }
    if (!out.empty()) co_await write(std::move(out));
  }
  co_return notes;
}

// Of prompt and reply together, one progress for all that has come since the last.
asio::awaitable<std::string> LocalConnection::run_verify(Exchange& exchange, const ipc::Receipt& receipt,
                                                         bool more) {
  ReadRequest read = [&receipt, this] {
    return to_request(receipt, service_.engine(), service_.default_sampling());
  };
  co_await exchange.start(std::move(read));
  ipc::Progress done{0, static_cast<int>(receipt.prompt.size() + receipt.reply.size())};
  for (;;) {
    std::vector<Event> events = co_await exchange.next();
    for (const Event& event : events) {
      if (const auto* progress = std::get_if<Progress>(&event)) done.read = progress->read;
      if (std::holds_alternative<engine::Delta>(event)) ++done.read;
      if (const auto* reply = std::get_if<engine::Reply>(&event)) {
        const ipc::Verdict verdict = verdict_on(receipt, *reply, service_.engine().model());
        std::string notes = notes_on(*reply) + (verdict.equal ? " equal" : " different");
        co_await write(ipc::verdict_reply(verdict));
        co_return notes;
      }
    }
    if (more && !events.empty()) co_await write(ipc::progress_reply(done));
  }
}

asio::awaitable<void> LocalConnection::answer_tokenize(const ipc::Tokenize& tokenize) {
  std::string out;
  try {
    const Ticket ticket = service_.admit(account(), 0);
    const auto work = [&tokenize, &service = service_] {
      return ipc::tokens_reply(tokens_of(tokenize, service.engine(), service.default_sampling()));
    };
    const Preparing::Place place = co_await service_.preparing().take(*account());
    out = co_await service_.preparing().run(place, work);
  } catch (const openai::ApiError& error) {
    out = ipc::error_reply(to_local(error));
  }
  co_await write(std::move(out));
}

asio::awaitable<void> LocalConnection::answer_cancel(const ipc::Cancel& cancel, bool oneway) {
  const bool found = service_.cancel(cancel.id, caller());
  log_info("local Cancel " + peer_ + " " + (found ? cancel.id : "found nothing"));
  if (oneway) co_return;
  const ipc::Error unknown{ipc::Error::Kind::no_such_request, {}, cancel.id};
  std::string out = found ? ipc::empty_reply() : ipc::error_reply(unknown);
  co_await write(std::move(out));
}

asio::awaitable<void> LocalConnection::answer_status(bool more) {
  if (!more) {
    co_await write(ipc::status_reply(local_status(service_, caller()), false));
  } else if (account()->watchers >= limits::watchers) {
    const ipc::Error error{ipc::Error::Kind::busy, "this user watches the status " +
                                                       std::to_string(limits::watchers) + " times already"};
    co_await write(ipc::error_reply(error));
  } else {
    const struct Watching {
      int& watchers;
      explicit Watching(int& count) : watchers(count) { ++watchers; }
      ~Watching() { --watchers; }
    } watching(account()->watchers);
    co_await watch_status();
  }
}

// Until the client leaves or the daemon stops.
asio::awaitable<void> LocalConnection::watch_status() {
  std::optional<ipc::Status> told;
  for (bool last = false; !last;) {
    ipc::Status status = local_status(service_, caller());
    last = finishing_;
    if (last || !told || !same_but_time(*told, status)) {
      co_await write(ipc::status_reply(status, !last));
      told = std::move(status);
    }
    if (last) co_return;
    co_await pause();
  }
}

asio::awaitable<void> LocalConnection::pause() {
  boost::system::error_code cancelled;
  pause_.expires_after(limits::status_pause);
  co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (!broken_.empty() || look() == PeerState::gone) throw PeerGone("the client left");
}

asio::awaitable<void> LocalConnection::answer_snapshots() {
  std::string out = ipc::error_reply({ipc::Error::Kind::permission_denied, {}, {}});
  if (may_see(caller(), std::nullopt)) {
    try {
      const Ticket ticket = service_.admit(account(), 0);
      const auto work = [&service = service_] { return ipc::snapshots_reply(local_snapshots(service)); };
      const Preparing::Place place = co_await service_.preparing().take(*account());
      out = co_await service_.preparing().run(place, work);
    } catch (const openai::ApiError& error) {
      out = ipc::error_reply(to_local(error));
    }
  }
  co_await write(std::move(out));
}

asio::awaitable<void> LocalConnection::answer_check(const ipc::Check& check, bool more) {
  std::optional<ipc::Error> refusal;
  try {
    const int trials = check.trials.value_or(20);
    if (trials < 1 || trials > limits::check_trials)
      throw openai::invalid("'trials' must be from 1 to " + std::to_string(limits::check_trials), "trials");
    const Ticket ticket = service_.admit(account(), 0);
    const struct Running {
      std::shared_ptr<LawCheck> check;
      ~Running() { check->stop(); }
    } running{service_.begin_check(trials, static_cast<unsigned>(check.seed.value_or(1)))};
    log_info("local Check " + peer_ + " begins");
    co_await follow_check(*running.check, more);
  } catch (const openai::ApiError& error) {
    refusal = to_local(error);
  }
  if (refusal) co_await write(ipc::error_reply(*refusal));
}

asio::awaitable<void> LocalConnection::follow_check(LawCheck& check, bool more) {
  while (!check.over()) {
    co_await pause();
    if (finishing_) throw openai::unavailable("the server is shutting down", "shutting_down", 5);
    const std::optional<engine::LawCount> law = check.progress();
    if (more && law && !check.over()) co_await write(ipc::law_reply(to_local(*law)));
  }
  if (!check.error().empty()) throw openai::ApiError(500, "server_error", check.error(), "", "");
  std::vector<ipc::LawCount> laws;
  for (const engine::LawCount& law : check.laws()) laws.push_back(to_local(law));
  co_await write(ipc::laws_reply(laws));
}

asio::awaitable<void> LocalConnection::write(std::string bytes) {
  stream_.expires_after(limits::write);
  co_await asio::async_write(stream_, asio::buffer(bytes), asio::use_awaitable);
  stream_.expires_never();
}

void LocalConnection::finish() {
  finishing_ = true;
  pause_.cancel();
  if (idle()) hang_up("the daemon stops");
}

PeerState LocalConnection::look() { return look_at_socket(stream_.socket().native_handle()); }

// A Unix socket's kernel tells a client that has left from one that only stopped writing.
asio::awaitable<void> LocalConnection::probe() { co_return; }

void LocalConnection::hang_up(const std::string& why) {
  broken_ = why;
  stream_.close();
}

}  // namespace lockstep::daemon
