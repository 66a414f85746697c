#include "daemon/http/chat.h"

#include "daemon/exchange.h"

namespace lockstep::daemon::http {
namespace {

namespace asio = boost::asio;

// A header for what the reply is not held to.
void add_warning(const Exchange& exchange, Headers& headers) {
  std::string words;
  for (const std::string& word : exchange.unenforced()) words += (words.empty() ? "" : ", ") + word;
  if (!words.empty()) headers.emplace_back("Lockstep-Warning", "schema keywords not enforced: " + words);
}

asio::awaitable<ChatOutcome> send_whole(Exchange& exchange) {
  openai::WholeReply whole(exchange.head());
  for (;;) {
    std::vector<Event> events = co_await exchange.next();
    for (Event& event : events) {
      if (auto* delta = std::get_if<engine::Delta>(&event)) whole.add(std::move(*delta));
      if (const auto* reply = std::get_if<engine::Reply>(&event))
        co_return ChatOutcome{json_response(200, whole.finish(*reply)), notes_on(*reply)};
    }
  }
}

// Writes one reply as server-sent events. The header goes out with the first sign that the engine works on
// the request, so that what fails before is a plain error.
class Stream {
 public:
  // `ping`: a silence of that length gets a comment; 0: none does.
  Stream(Exchange& exchange, ReplyChannel& channel, std::chrono::seconds ping)
      : exchange_(exchange),
        channel_(channel),
        ping_(ping.count() > 0 ? ping : std::chrono::hours(24)),
        reply_(exchange.head(), exchange.request().include_usage),
        chunked_(channel.framing().version != 10) {
    if (!chunked_) channel.framing().keep_alive = false;
  }

  bool begun() const { return begun_; }

  asio::awaitable<std::string> send_all() {
    std::string notes;
    while (notes.empty()) {
      std::vector<Event> events = co_await exchange_.next(ping_);
      std::string out = begun_ || events.empty() ? std::string() : begin();
      for (Event& event : events) {
        if (const auto* progress = std::get_if<Progress>(&event)) progress_ = *progress;
        if (auto* delta = std::get_if<engine::Delta>(&event)) frame(reply_.piece(std::move(*delta)), out);
        if (const auto* reply = std::get_if<engine::Reply>(&event)) {
          for (const json::Value& chunk : reply_.closing(*reply)) frame(chunk, out);
          end(out);
          notes = notes_on(*reply);
        }
      }
      if (begun_ && out.empty() && std::chrono::steady_clock::now() - spoken_ >= ping_)
        add(": " + std::to_string(progress_.read) + " of " + std::to_string(progress_.total) +
                " prompt tokens are read\n\n",
            out);
      if (out.empty()) continue;
      spoken_ = std::chrono::steady_clock::now();
      co_await channel_.write(std::move(out));
    }
    co_return notes;
  }

  asio::awaitable<void> send_error(const openai::ApiError& error) {
    channel_.framing().keep_alive = false;
    std::string out;
    frame(openai::to_json(error), out);
    end(out);
    co_await channel_.write(std::move(out));
  }

 private:
  std::string begin() {
    begun_ = true;
    channel_.stream_begun();
    std::string out = stream_header(channel_.framing());
    frame(reply_.opening(), out);
    return out;
  }
  void frame(const json::Value& value, std::string& out) const { add(event(json::write(value)), out); }
  void end(std::string& out) const {
    add(event("[DONE]"), out);
    if (chunked_) out += last_chunk;
  }
  void add(const std::string& text, std::string& out) const { out += chunked_ ? chunk(text) : text; }

  Exchange& exchange_;
  ReplyChannel& channel_;
  const std::chrono::milliseconds ping_;
  openai::StreamedReply reply_;
  const bool chunked_;
  bool begun_ = false;
  Progress progress_{};
  std::chrono::steady_clock::time_point spoken_;  // when something was sent last
};

asio::awaitable<ChatOutcome> send_stream(Exchange& exchange, ReplyChannel& channel,
                                         std::chrono::seconds ping) {
  Stream stream(exchange, channel, ping);
  std::optional<openai::ApiError> failure;
  ChatOutcome outcome;
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

asio::awaitable<ChatOutcome> serve_chat(Service& service, Peer& peer, ReplyChannel& channel, Ticket ticket,
                                        std::string body) {
  Exchange exchange(service, peer, std::move(ticket), "HTTP");
  auto read = [text = std::move(body), &service] {
    return openai::parse_chat_request(text, service.default_sampling());
  };
  co_await exchange.start(std::move(read));
  add_warning(exchange, channel.framing().headers);
  if (exchange.request().stream)
    co_return co_await send_stream(exchange, channel, service.configuration().ping);
  co_return co_await send_whole(exchange);
}

}  // namespace lockstep::daemon::http
