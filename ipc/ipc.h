// The door of ipc/: the local protocol as values and bytes. What the protocol is, its limits included, is
// written in org.lockstep.Inference.varlink; the framing is Varlink's
// (https://varlink.org/Interface-Definition).
//
// A server pushes what it receives into a FrameReader, hands each message to read_call(), and sends the
// strings that the *_reply functions return. The client's blocking connection is ipc/connection.h.
// Nothing here opens a socket, waits, or has state shared between objects: any thread may call anything,
// one at a time for an object.
//
// For a server: calls of a connection are answered one after the other. The end of a client's input is not
// its end: a client may shut down its sending side and wait. It is gone when its socket is hung up (POLLHUP,
// EPIPE); then its call is cancelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ipc/receipt.h"
#include "ipc/status.h"

namespace lockstep::ipc {

inline constexpr std::string_view interface_name = "org.lockstep.Inference";
inline constexpr size_t most_message_bytes = size_t{16} << 20;  // without its NUL; as sd-varlink
inline constexpr int most_depth = 64;                           // arrays and objects inside each other

// The text of org.lockstep.Inference.varlink.
std::string_view interface_text();

// The peer does not speak the protocol. The connection is of no more use: close it.
struct ProtocolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Cuts a byte stream into messages. Holds at most most_message_bytes and a NUL.
class FrameReader {
 public:
  // Throws ProtocolError when more would have to be held: a message without end, or calls sent far ahead.
  void push(std::string_view bytes);
  // The next whole message without its NUL, or nothing until more is pushed.
  std::optional<std::string> next();
  // Bytes that wait to become a message.
  size_t held() const { return held_.size() - start_; }

 private:
  std::string held_;
  size_t start_ = 0, searched_ = 0;  // of the next message; up to where no NUL was found
};

struct ToolCall {
  std::string id, name;
  std::string arguments;  // JSON text
};

struct Message {
  std::string role;  // system, developer, user, assistant or tool
  std::string content;
  std::optional<std::string> reasoning;
  std::vector<ToolCall> calls;
  std::string call_id;
};

struct Conversation {
  std::vector<Message> messages;   // `system` and `prompt` have become messages; never empty
  std::vector<std::string> tools;  // JSON text of an object each, as the caller wrote it
  std::optional<bool> thinking;
};
struct Chat : Conversation, Sampling {
  bool receipt = false;
};
struct Complete : Sampling {
  std::string prompt;
  bool receipt = false;
};
struct Verify {
  Receipt receipt;
};
struct Tokenize {
  std::variant<std::string, Conversation> what;
};
struct Cancel {
  std::string id;
};
struct Check {
  std::optional<int> trials;
  std::optional<uint64_t> seed;
};
struct ModelsQuery {};
struct StatusQuery {};
struct SnapshotsQuery {};

// A call for the server to answer.
struct Call {
  bool more;    // Chat, Complete, Verify: the caller wants pieces; Status: it wants changes
  bool oneway;  // only Cancel, the one method that does something: nothing is answered
  std::variant<Chat, Complete, Verify, Check, Tokenize, Cancel, ModelsQuery, StatusQuery, SnapshotsQuery>
      what;
};
// A call that is answered already: an error of the caller's, a question about the interface, or a one-way
// call of a method that only answers (`bytes` is empty).
struct Answer {
  std::string bytes;
};
// Throws ProtocolError when the message is no call at all. `version` is the server's, for GetInfo.
std::variant<Call, Answer> read_call(std::string_view message, std::string_view version);

// ---- Replies -----------------------------------------------------------------------------------------

struct Accepted {
  std::string id;
  int prompt_tokens = 0;
};
struct Progress {
  int read, total;
};
struct CallPiece {
  int index = 0;
  std::string name, arguments;  // empty: not in this piece
};
struct Delta {
  std::string content, reasoning;  // empty: not in this piece
  std::vector<CallPiece> calls;
};
struct Whole {  // a reply in one piece
  std::string content, reasoning;
  std::vector<ToolCall> calls;
};
struct Final {
  std::string id;
  std::string finish;  // stop, length or tool_calls
  int prompt_tokens = 0, cached_tokens = 0, reply_tokens = 0, reasoning_tokens = 0;
  std::string token_sha;
  uint64_t seed = 0;
  std::string model, fingerprint;
  int canon_version = 0;
  double queue_seconds = 0, prompt_seconds = 0, decode_seconds = 0;
  Sampling parameters;  // as they held, without the seed
  std::string prompt_sha;
  std::optional<Whole> whole;      // for calls without `more`
  std::optional<Receipt> receipt;  // for those who asked for it
};
// An error reply. `field` may be in snake_case; it is sent as the protocol spells it (max_tokens: maxTokens).
struct Error {
  enum class Kind {
    busy,
    context_overflow,
    bad_request,
    not_ready,
    device_fault,
    cancelled,
    no_such_request,
    permission_denied,
    other
  } kind = Kind::other;
  std::string message{};         // one sentence; other: the error's name and parameters
  std::string field{};           // bad_request; no_such_request: the id
  int64_t limit = 0, given = 0;  // context_overflow
};

// Whole messages with their NUL, ready to be sent. Text must be UTF-8; bytes that are not become U+FFFD.
std::string accepted_reply(const Accepted&);
std::string progress_reply(const Progress&);
std::string delta_reply(const Delta&);
std::string final_reply(const Final&);
std::string verdict_reply(const Verdict&);
std::string tokens_reply(const std::vector<int32_t>&);
std::string empty_reply();  // to Cancel
std::string models_reply(const std::vector<Model>&);
std::string status_reply(const Status&, bool continues);
std::string snapshots_reply(const SnapshotList&);
std::string law_reply(const LawCount&);                // while a Check goes on
std::string laws_reply(const std::vector<LawCount>&);  // its last one
std::string error_reply(const Error&);

// ---- What both programs need -------------------------------------------------------------------------

// Bytes of the UTF-8 character that text begins with, 1 to 4; 0 if it begins with none (or is empty).
size_t utf8_length(std::string_view text);

// A standard stream that is not open would be the next file or socket that is, and get what is printed.
// Such streams are held by /dev/null instead, for reading only: what is printed there fails.
void hold_standard_streams();

}  // namespace lockstep::ipc
