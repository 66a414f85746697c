// lockstep status.
#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <deque>

#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"
#include "ipc/client/terminal.h"
#include "ipc/client/text.h"

namespace lockstep::ipc::client {

namespace {

using std::chrono::steady_clock;

std::string user_name(const std::optional<uint32_t>& uid) {
  if (!uid) return "TCP";
  const passwd* user = ::getpwuid(*uid);
  return user ? user->pw_name : std::to_string(*uid);
}

std::string requests_table(const std::vector<Request>& requests) {
  std::vector<std::vector<std::string>> rows;
  for (const Request& request : requests)
    rows.push_back({request.id, user_name(request.caller.uid), request.state,
                    std::to_string(request.prompt_tokens), std::to_string(request.reply_tokens),
                    duration_text(request.seconds)});
  return table({{"request"}, {"user"}, {"state"}, {"prompt", true}, {"reply", true}, {"time", true}}, rows);
}

// `speed`: prompt and reply tokens a second, when they are known.
struct Speed {
  double prompt, reply;
};
std::string status_text(const Status& status, const std::optional<Speed>& speed) {
  std::string text = "lockstepd " + status.version + ", " + status.state + ", up " +
                     duration_text(status.uptime_seconds) + "\n";
  if (!status.model.empty()) text += "model     " + status.model + "\n";
  if (!status.device.empty()) text += "device    " + status.device + "\n";
  text += "now       " + std::to_string(status.active) + " of " + std::to_string(status.lanes) +
          " answering, " + std::to_string(status.queued) + " of " + std::to_string(status.queue) +
          " waiting\n";
  text += "since     " + count(status.served, "served, ") + count(status.cancelled, "cancelled, ") +
          count(status.refused, "refused, ") + count(status.failed, "failed\n");
  text += "tokens    " + count(status.prompt_tokens, "read, ") + count(status.reply_tokens, "written, ") +
          count(status.rounds, "rounds\n");
  text += "cache     " + count(status.cache.hits, "hits, ") + count(status.cache.misses, "misses, ") +
          count(status.cache.reused_tokens, "tokens reused\n");
  if (speed) {
    char line[80];
    std::snprintf(line, sizeof line, "speed     %.1f read, %.1f written a second\n", speed->prompt,
                  speed->reply);
    text += line;
  }
  const char* title = "memory    ";
  for (const Pool& pool : status.memory) {
    text += title + pool.name + ": " + bytes_text(pool.used) + " of " + bytes_text(pool.bytes) + " used\n";
    title = "          ";
  }
  if (!status.requests.empty()) text += "\n" + requests_table(status.requests);
  return text;
}

// Tokens a second over the last two seconds or more.
class Speedometer {
 public:
  std::optional<Speed> of(const Status& status, steady_clock::time_point now) {
    seen_.push_back({now, status.prompt_tokens, status.reply_tokens});
    while (seen_.size() > 2 && now - seen_[1].when >= std::chrono::seconds(2)) seen_.pop_front();
    const std::chrono::duration<double> passed = now - seen_.front().when;
    if (passed.count() < 0.5) return std::nullopt;
    const auto rate = [&](uint64_t last, uint64_t first) {
      return static_cast<double>(last - first) / passed.count();
    };
    return Speed{rate(status.prompt_tokens, seen_.front().prompt),
                 rate(status.reply_tokens, seen_.front().reply)};
  }

 private:
  struct Seen {
    steady_clock::time_point when;
    uint64_t prompt, reply;
  };
  std::deque<Seen> seen_;
};

// A block of lines that is drawn over itself.
class Screen {
 public:
  void draw(const std::string& text) {
    const ScreenSize size = screen_size();
    if (disturbance() == Disturbance::continued) drawn_ = 0;  // the shell has written below it
    std::string fitting = cut_lines(harmless(text), size.columns - 1);
    // The cursor's line is the last one; what does not fit above it could not be drawn over.
    size_t end = 0;
    int lines = 0;
    while (lines < size.lines - 1 && end < fitting.size()) {
      end = std::min(fitting.find('\n', end), fitting.size() - 1) + 1;
      ++lines;
    }
    fitting.resize(end);
    const bool resized = size.columns != size_.columns || size.lines != size_.lines;
    std::string out = drawn_ == 0 ? "" : resized ? "\033[H\033[2J" : "\r\033[" + std::to_string(drawn_) + "A";
    for (const char c : fitting) out += c == '\n' ? "\033[K\n" : std::string(1, c);
    write_answer(out + "\033[J");
    drawn_ = lines;
    size_ = size;
  }

 private:
  int drawn_ = 0;  // lines
  ScreenSize size_{};
};

Status later(Status status, double seconds) {
  status.uptime_seconds += seconds;
  for (Request& request : status.requests) request.seconds += seconds;
  return status;
}

// True: a message is here; false: a second has passed, or something has happened to the terminal.
bool wait_a_second(Connection& connection, bool for_ever) {
  if (connection.has_message()) return true;
  pollfd events[] = {{connection.descriptor(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
  const int ready = ::poll(events, 2, for_ever ? -1 : 1000);
  if (ready > 0 && (events[1].revents & POLLERR)) Display::end_if_unread();
  return ready > 0 && events[0].revents;
}

void watch(Connection& connection, bool json) {
  const bool drawn = !json && is_screen();
  const Display tidy;
  if (drawn) notice_disturbances();
  Screen screen;
  Speedometer speedometer;
  Status status;
  auto told = steady_clock::now();
  for (bool more = true; more;) {
    if (wait_a_second(connection, !drawn)) {
      const Reply reply = connection.receive();
      if (reply.error) throw failure_of(*reply.error);
      more = reply.continues;
      told = steady_clock::now();
      if (json) {
        write_answer(reply.parameters + "\n");
        continue;
      }
      status = read_status_reply(reply.parameters);
      if (!drawn) write_answer(status_text(status, std::nullopt) + "\n");
    }
    if (!drawn || status.version.empty()) continue;
    const auto now = steady_clock::now();
    const std::chrono::duration<double> passed = now - told;
    screen.draw(status_text(later(status, passed.count()), speedometer.of(status, now)));
  }
}

}  // namespace

int status(const Arguments& arguments) {
  if (!arguments.given("--watch"))
    return query(arguments, "Status", "{}", [](const std::string& reply) {
      return status_text(read_status_reply(reply), std::nullopt);
    });
  const std::string socket = socket_path(arguments);
  Connection connection = connect(socket);
  try {
    connection.call("Status", "{}", true);
    watch(connection, arguments.given("--json"));
  } catch (const ConnectionError& error) {
    throw failure_of(error, socket);
  } catch (const ProtocolError& error) {
    throw Failure(exit_failed, error.what());
  }
  return exit_ok;
}

}  // namespace lockstep::ipc::client
