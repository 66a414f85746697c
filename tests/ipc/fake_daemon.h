// A daemon whose thread runs what the test gives it for each connection, one after the other.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "ipc/ipc.h"

namespace lockstep::tests {

class FakeDaemon {
 public:
  explicit FakeDaemon(std::function<void(int client)> serve) {
    char pattern[] = "/tmp/lockstep-test-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 ||
        ::listen(listener_, 1) < 0)
      throw std::runtime_error("no socket at " + path());
    thread_ = std::thread([this, serve = std::move(serve)] {
      for (int client; (client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
        serve(client);
        ::close(client);
      }
    });
  }
  ~FakeDaemon() {
    ::shutdown(listener_, SHUT_RDWR);  // ends accept() when nobody came
    thread_.join();
    ::close(listener_);
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ + "/socket"; }

  static bool send_all(int client, const std::string& bytes) {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t sent = ::send(client, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<size_t>(sent);
    }
    return true;
  }

  // The next message, or "" when the client has gone.
  static std::string read_message(int client) {
    ipc::FrameReader frames;
    char buffer[4096];
    while (true) {
      if (auto message = frames.next()) return *message;
      const ssize_t got = ::read(client, buffer, sizeof buffer);
      if (got <= 0) return "";
      frames.push({buffer, static_cast<size_t>(got)});
    }
  }

  static ipc::Chat read_chat(int client) {
    const auto call = ipc::read_call(read_message(client), "test");
    return std::get<ipc::Chat>(std::get<ipc::Call>(call).what);
  }

 private:
  std::string folder_;
  int listener_;
  std::thread thread_;
};

}  // namespace lockstep::tests
