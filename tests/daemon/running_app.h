// A daemon in this process, on the fake engine, with sockets in a directory of its own.
#pragma once

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "daemon/app.h"
#include "tests/daemon/fake_engine.h"
#include "tests/daemon/http_client.h"

namespace lockstep::test {

struct TemporaryDirectory {
  TemporaryDirectory();
  ~TemporaryDirectory();
  std::filesystem::path path;
};

daemon::Configuration test_configuration(const std::filesystem::path& socket_dir);

class RunningApp {
 public:
  struct Setup {
    FakeEngine::Options engine{};
    std::chrono::milliseconds loading{0};
    std::chrono::seconds drain{5};
    bool wait_until_ready = true;
    std::function<void(daemon::Configuration&)> configure = [](daemon::Configuration&) {};
  };
  explicit RunningApp(Setup setup);
  RunningApp() : RunningApp(Setup{}) {}
  ~RunningApp();  // SIGTERM, and waits

  HttpClient client() const { return HttpClient::tcp(port_); }
  HttpClient unix_client() const { return HttpClient::unix_socket(http_socket().string()); }
  std::filesystem::path http_socket() const { return directory_.path / "run/http.sock"; }
  std::filesystem::path local_socket() const { return directory_.path / "run/org.lockstep.Inference"; }
  const std::filesystem::path& directory() const { return directory_.path; }
  FakeEngine& engine();
  int port() const { return port_; }

  void terminate();           // SIGTERM
  daemon::ExitStatus wait();  // until run() returns

 private:
  TemporaryDirectory directory_;
  int port_;
  std::atomic<FakeEngine*> engine_ = nullptr;
  std::unique_ptr<daemon::App> app_;
  bool terminated_ = false;
  std::future<daemon::ExitStatus> status_;
};

// A setup whose engine gives these deltas as every reply.
RunningApp::Setup says(std::vector<engine::Delta> deltas, engine::Finish finish = engine::Finish::stop);
engine::Delta thought(const std::string& reasoning);
engine::Delta call(int index, const std::string& name, const std::string& arguments);

// Polls until the condition holds, at most 5 seconds.
bool eventually(const std::function<bool()>& condition);

}  // namespace lockstep::test
