// A client's end of the local protocol: one connection, one call at a time, blocking.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "ipc/ipc.h"

namespace lockstep::ipc {

// The daemon cannot be reached, or the connection ended before the reply did.
struct ConnectionError : std::runtime_error {
  int number;  // errno; 0: the daemon closed the connection
  ConnectionError(const std::string& text, int n) : std::runtime_error(text), number(n) {}
};

// One message from the server. Exactly one of `error` and `parameters` is meant.
struct Reply {
  bool continues = false;
  std::optional<Error> error;
  std::string parameters;  // JSON text of an object
};

// A reply's parameters as values. Members that are not known are skipped: the server may be newer.
// Throw ProtocolError when something needed is missing or of the wrong type.
using ChatReply = std::variant<Accepted, Progress, Delta, Final>;
ChatReply read_chat_reply(std::string_view parameters);
using VerifyReply = std::variant<Progress, Verdict>;
VerifyReply read_verify_reply(std::string_view parameters);
using CheckReply = std::variant<LawCount, std::vector<LawCount>>;
CheckReply read_check_reply(std::string_view parameters);
SnapshotList read_snapshots_reply(std::string_view parameters);
std::vector<int32_t> read_tokens_reply(std::string_view parameters);
std::vector<Model> read_models_reply(std::string_view parameters);
Status read_status_reply(std::string_view parameters);
// The part of a Chat reply named `final`, as the server wrote it.
std::string final_text(std::string_view parameters);

// A message of the server. Throws ProtocolError.
Reply read_reply(std::string_view message);

// The parameters of calls of Chat, Complete and Tokenize, and of those with one text (Tokenize's `text`,
// Cancel's `id`), as JSON text.
std::string chat_parameters(const Chat&);
std::string complete_parameters(const Complete&);
std::string conversation_parameters(const Conversation&);
std::string text_parameters(std::string_view name, std::string_view value);

class Connection {
 public:
  // Throws ConnectionError.
  explicit Connection(const std::string& socket_path);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Sends a call; `method` without the interface's name. Throws ConnectionError, and ProtocolError when the
  // message would be longer than most_message_bytes.
  void call(std::string_view method, std::string_view parameters, bool more);

  // Waits for the next message. Throws ConnectionError and ProtocolError.
  Reply receive();

  // The socket, to wait on together with others.
  int descriptor() const { return descriptor_; }
  // A message is here already: receive() will not wait.
  bool has_message();

 private:
  int descriptor_;
  FrameReader frames_;
  std::optional<std::string> waiting_;
};

}  // namespace lockstep::ipc
