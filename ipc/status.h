// What a server tells about itself: the replies of Models, Status, Snapshots and Check as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::ipc {

struct Model {
  std::string name, family, fingerprint;
  int canon_version = 0, context = 0, vocabulary = 0;
  int64_t created = 0;
  std::string device, device_description;
};
struct Pool {
  std::string name;
  uint64_t bytes = 0, used = 0;
};
// What the prompt cache saved: prompts that began with something read before, and their tokens.
struct Cache {
  uint64_t hits = 0, misses = 0, stored = 0, evicted = 0, reused_tokens = 0;
};
// Who has the other end of a Unix socket; nothing for TCP.
struct Caller {
  std::optional<uint32_t> uid;
  std::optional<int> pid;
};

// A request in work.
struct Request {
  std::string id, method;  // Chat, Complete, HTTP
  std::string state;       // preparing, waiting, reading, writing
  Caller caller;
  int prompt_tokens = 0, reply_tokens = 0;
  double seconds = 0;
};

// What the requests of one user came to, those of TCP together (no uid).
struct Account {
  std::optional<uint32_t> uid;
  int active = 0;
  uint64_t served = 0, cancelled = 0, refused = 0, failed = 0, prompt_tokens = 0, reply_tokens = 0;
};
struct Status {
  std::string version;
  std::string state;          // starting, ready or stopping
  std::string model, device;  // empty: not known yet
  double uptime_seconds = 0;
  int active = 0, queued = 0, lanes = 0, queue = 0;
  uint64_t served = 0, cancelled = 0, refused = 0, failed = 0;
  uint64_t prompt_tokens = 0, reply_tokens = 0, rounds = 0;
  std::vector<Pool> memory;
  Cache cache;
  std::vector<Request> requests;
  std::vector<Account> accounts;
};

// A prefix that is kept on disk.
struct Snapshot {
  std::string model;  // first digits of what it is filed under: model, canon and memory layout
  int tokens = 0;
  uint64_t bytes = 0;     // of its own, beside pages that several share
  int64_t last_used = 0;  // seconds since 1970
  bool system = false;    // the end of a system prompt
};
struct SnapshotList {
  std::string directory;
  uint64_t bytes = 0, budget = 0;  // pages included
  uint64_t entries = 0, pages = 0;
  std::vector<Snapshot> snapshots;  // the last used first
};

// What came of a law's random trials.
struct LawCount {
  std::string law;
  int passed = 0, failed = 0;
  std::string skipped{};  // why, if it was
};

}  // namespace lockstep::ipc
