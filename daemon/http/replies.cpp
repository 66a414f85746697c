#include "daemon/http/replies.h"

#include "daemon/exchange.h"

namespace lockstep::daemon::http {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

// A header for what the reply is not held to.
void add_warning(const Exchange& exchange, Headers& headers) {
  std::string words;
  for (const std::string& word : exchange.unenforced()) words += (words.empty() ? "" : ", ") + word;
  if (!words.empty()) headers.emplace_back("Lockstep-Warning", "schema keywords not enforced: " + words);
}

void add_notes(const engine::Reply& reply, std::string& notes) {
  notes += (notes.empty() ? "" : "; ") + notes_on(reply);
}

asio::awaitable<ReplyOutcome> send_whole(Exchange& exchange, openai::WholeShape& shape) {
  ReplyOutcome outcome;
  while (!exchange.over()) {
    std::vector<Event> events = co_await exchange.next();
    for (Event& event : events) {
      if (auto* delta = std::get_if<engine::Delta>(&event)) shape.add(event.choice, std::move(*delta));
      if (auto* reply = std::get_if<engine::Reply>(&event)) {
        add_notes(*reply, outcome.notes);
        shape.finish(event.choice, std::move(*reply));
      }
    }
  }
  outcome.response = json_response(200, shape.body());
  co_return outcome;
}

// Writes replies as server-sent events. The header goes out with the first sign that the engine works on
// the request, so that what fails before is a plain error.
class Stream {
 public:
  // `ping`: a silence of that length gets a comment; 0: none does.
  Stream(Exchange& exchange, openai::StreamShape& shape, ReplyChannel& channel, std::chrono::seconds ping)
      : exchange_(exchange),
        shape_(shape),
        channel_(channel),
        ping_(ping.count() > 0 ? ping : std::chrono::hours(24)),
        chunked_(channel.framing().version != 10) {
    if (!chunked_) channel.framing().keep_alive = false;
  }

  bool begun() const { return begun_; }

  // What to say in the log.
  asio::awaitable<std::string> send_all() {
    std::string notes;
    while (!exchange_.over()) {
      std::vector<Event> events = co_await exchange_.next(ping_);
      std::string out = begun_ || events.empty() ? std::string() : begin();
      for (Event& event : events) take(event, notes, out);
      if (exchange_.over()) {
        openai::StreamEvents closing;
        shape_.close(closing);
        frame(closing, out);
        end(out);
      }
      if (begun_ && out.empty() && steady_clock::now() - spoken_ >= ping_)
        add(": " + std::to_string(progress_.read) + " of " + std::to_string(progress_.total) +
                " prompt tokens are read\n\n",
            out);
      if (out.empty()) continue;
      spoken_ = steady_clock::now();
      co_await channel_.write(std::move(out));
    }
    co_return notes;
  }

  asio::awaitable<void> send_error(const openai::ApiError& error) {
    channel_.framing().keep_alive = false;
    openai::StreamEvents events;
    shape_.fail(error, events);
    std::string out;
    frame(events, out);
    end(out);
    co_await channel_.write(std::move(out));
  }

 private:
  std::string begin() {
    begun_ = true;
    channel_.stream_begun();
    std::string out = stream_header(channel_.framing());
    openai::StreamEvents events;
    shape_.open(events);
    frame(events, out);
    return out;
  }

  void take(Event& event, std::string& notes, std::string& out) {
    openai::StreamEvents events;
    if (const auto* progress = std::get_if<Progress>(&event)) progress_ = *progress;
    if (auto* delta = std::get_if<engine::Delta>(&event)) shape_.add(event.choice, std::move(*delta), events);
    if (auto* reply = std::get_if<engine::Reply>(&event)) {
      add_notes(*reply, notes);
      shape_.finish(event.choice, std::move(*reply), events);
    }
    frame(events, out);
  }

  void frame(const openai::StreamEvents& events, std::string& out) const {
    for (const openai::StreamEvent& one : events) add(event(one.name, json::write(one.data)), out);
  }
  void end(std::string& out) const {
    if (!shape_.last_words().empty()) add(event({}, shape_.last_words()), out);
    if (chunked_) out += last_chunk;
  }
  void add(const std::string& text, std::string& out) const { out += chunked_ ? chunk(text) : text; }

  Exchange& exchange_;
  openai::StreamShape& shape_;
  ReplyChannel& channel_;
  const std::chrono::milliseconds ping_;
  const bool chunked_;
  bool begun_ = false;
  Progress progress_{};
  steady_clock::time_point spoken_;  // when something was sent last
};

asio::awaitable<ReplyOutcome> send_stream(Exchange& exchange, openai::StreamShape& shape,
                                          ReplyChannel& channel, std::chrono::seconds ping) {
  Stream stream(exchange, shape, channel, ping);
  std::optional<openai::ApiError> failure;
  ReplyOutcome outcome;
  try {
    outcome.notes = co_await stream.send_all();
  } catch (const openai::ApiError& error) {
    if (!stream.begun()) throw;
    failure = error;
  }
  if (failure) {
    co_await stream.send_error(*failure);
    outcome.notes = std::string("failed: ") + failure->what();
  }
  co_return outcome;
}

}  // namespace

asio::awaitable<ReplyOutcome> serve_replies(const Endpoint& endpoint, Service& service, Peer& peer,
                                            ReplyChannel& channel, Ticket ticket, std::string body) {
  Exchange exchange(service, peer, std::move(ticket), "HTTP");
  channel.framing().headers.emplace_back("X-Request-Id", exchange.id());
  auto read = [text = std::move(body), &service, &endpoint] {
    return endpoint.read(service, openai::parse_body(text));
  };
  co_await exchange.start(std::move(read));
  add_warning(exchange, channel.framing().headers);
  const openai::Request& request = exchange.request();
  if (!request.stream) {
    const auto shape = endpoint.whole(service, exchange.head(), request);
    co_return co_await send_whole(exchange, *shape);
  }
  const auto shape = endpoint.streamed(service, exchange.head(), request);
  co_return co_await send_stream(exchange, *shape, channel, service.configuration().ping);
}

}  // namespace lockstep::daemon::http
