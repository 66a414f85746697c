// What each user has in work and has had: for limits, for who may see what, and for Status. I/O thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

namespace lockstep::daemon {

// Who has the other end of a connection. Over TCP nobody knows.
struct Caller {
  std::optional<uid_t> uid;
  std::optional<pid_t> pid;  // that connected
};

// Whether `who` may see and cancel what belongs to `whose`: his own, and everything for root and the daemon's
// own user. Users whom the kernel cannot name here (user_namespaces(7)) all have one uid: they see nothing.
bool may_see(const Caller& who, const std::optional<uid_t>& whose);

// Everything over TCP is one account, without a uid.
struct Account {
  std::optional<uid_t> uid;
  int connections = 0, watchers = 0;  // now: open; of them calls of Status with `more`
  int requests = 0, jobs = 0;         // now: in work; of them in the engine
  int preparing = 0;                  // now: threads that it has of Preparing
  uint64_t last_turn = 0;             // there
  std::size_t held = 0;               // bytes in its Rooms
  uint64_t served = 0, cancelled = 0, refused = 0, failed = 0, prompt_tokens = 0, reply_tokens = 0;
};

// Remembers limits::accounts users; of those without a connection the one not seen for longest is forgotten.
class Accounts {
 public:
  std::shared_ptr<Account> of(const std::optional<uid_t>& uid);
  std::vector<Account> seen_by(const Caller& who) const;

 private:
  std::list<std::shared_ptr<Account>> accounts_;  // the one seen last in front
};

}  // namespace lockstep::daemon
