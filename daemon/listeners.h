// Listening sockets: TCP and Unix sockets opened here, or handed over by systemd (sd_listen_fds(3), named
// "tcp", "http" and "varlink"). Failures are StartFailure (address) with the kernel's words.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::daemon {

// A file descriptor that is closed, and a socket file that is removed, when their owner goes.
class ListeningSocket {
 public:
  enum class Kind { tcp, http, varlink };

  ListeningSocket(Kind kind, int descriptor, std::string name);
  ListeningSocket(ListeningSocket&& other) noexcept;
  ListeningSocket& operator=(ListeningSocket&&) = delete;
  ~ListeningSocket();

  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }  // for the log: "127.0.0.1:8420", a path
  bool reachable_from_elsewhere() const;             // TCP on an address that is no loopback address
  int release_descriptor();
  void remove_with(std::filesystem::path path);  // the file just bound

 private:
  Kind kind_;
  int descriptor_;
  std::string name_;
  std::filesystem::path path_;  // empty: not ours to remove
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Whether listen_on_tcp() would take the text: StartFailure if not.
void check_address(const std::string& address);

// ADDRESS:PORT; port 0 lets the kernel choose.
ListeningSocket listen_on_tcp(const std::string& address);

// Mode 0660. A socket file that nobody listens on is replaced; anything else in its place is left alone.
ListeningSocket listen_on_unix(ListeningSocket::Kind kind, const std::filesystem::path& path);

// What systemd has passed; empty when the process was started otherwise.
std::vector<ListeningSocket> sockets_from_systemd();

// Creates the directory of the sockets if it is missing (0755, its parent must exist), and removes it at the
// end if it was created and is empty.
class SocketDirectory {
 public:
  explicit SocketDirectory(std::filesystem::path path);
  ~SocketDirectory();
  SocketDirectory(const SocketDirectory&) = delete;
  SocketDirectory& operator=(const SocketDirectory&) = delete;

  bool created() const { return created_; }

 private:
  std::filesystem::path path_;
  bool created_ = false;
};

}  // namespace lockstep::daemon
