// What recomputes a reply, and what came of that. Part of the door, ipc.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::ipc {

inline constexpr size_t most_receipt_tokens = 190'000;  // of prompt and reply; a message has 200,000 values

// Types are checked, ranges are not (numbers are finite, counts fit an int).
struct Sampling {
  std::optional<int> max_tokens, top_k;
  std::optional<double> temperature, top_p, min_p;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
};

struct Receipt {
  int canon_version = 0;
  std::string model, fingerprint, device;
  bool chat = false;               // a reply of Chat; else of Complete
  std::optional<bool> thinking;    // of a Chat, as it was asked for
  std::vector<std::string> tools;  // of a Chat: JSON text of an object each
  Sampling parameters;             // as they held, the seed among them
  std::string prompt_sha, token_sha;
  std::vector<int32_t> prompt, reply;  // tokens
  std::string finish;
};

// As a line of JSON without its end.
std::string receipt_text(const Receipt&);

struct Verdict {
  bool equal = false;
  // Not equal: the first position of the reply that differs, and both tokens there, of replies that have one.
  std::optional<int> position, expected, computed;
  int prompt_tokens = 0, reply_tokens = 0;
  std::string device;  // that computed it
  double seconds = 0;
};

}  // namespace lockstep::ipc
