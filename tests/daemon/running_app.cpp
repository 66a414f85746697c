#include "tests/daemon/running_app.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace lockstep::test {
namespace {

// A port that was free a moment ago.
int free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(descriptor, reinterpret_cast<const sockaddr*>(&address), size);
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "lockstep-test-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
  path = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

daemon::Configuration test_configuration(const std::filesystem::path& socket_dir) {
  const daemon::Places places{socket_dir / "none.toml", socket_dir, ""};
  daemon::Configuration configuration = daemon::read_configuration(places.configuration, false, places);
  configuration.listen = "127.0.0.1:" + std::to_string(free_port());
  return configuration;
}

RunningApp::RunningApp(Setup setup) {
  daemon::Configuration configuration = test_configuration(directory_.path / "run");
  configuration.drain = setup.drain;
  configuration.engine.lanes = setup.engine.lanes;
  configuration.engine.queue = setup.engine.queue;
  setup.configure(configuration);
  port_ = std::stoi(configuration.listen.substr(configuration.listen.find(':') + 1));
  app_ = std::make_unique<daemon::App>(configuration, [this, setup](const auto&, const auto& progress) {
    std::this_thread::sleep_for(setup.loading);
    progress("memory: none, this is a test");
    auto engine = std::make_unique<FakeEngine>(setup.engine);
    engine_ = engine.get();
    return engine;
  });
  status_ = std::async(std::launch::async, [this] { return app_->run(); });
  const bool up = eventually([&] {
    try {
      return !setup.wait_until_ready || client().get("/health").status == 200;
    } catch (const std::runtime_error&) {
      return false;
    }
  });
  if (!up) throw std::runtime_error("the daemon does not come up");
  if (!setup.wait_until_ready) eventually([&] { return std::filesystem::exists(local_socket()); });
}

RunningApp::~RunningApp() {
  if (!status_.valid()) return;
  if (!terminated_) terminate();  // a second signal would end the test itself
  status_.wait();
}

FakeEngine& RunningApp::engine() { return *engine_; }

void RunningApp::terminate() {
  terminated_ = true;
  kill(getpid(), SIGTERM);
}

daemon::ExitStatus RunningApp::wait() { return status_.get(); }

RunningApp::Setup says(std::vector<engine::Delta> deltas, engine::Finish finish) {
  RunningApp::Setup setup;
  setup.engine.script.deltas = std::move(deltas);
  setup.engine.script.finish = finish;
  return setup;
}

engine::Delta thought(const std::string& reasoning) {
  engine::Delta delta;
  delta.reasoning = reasoning;
  return delta;
}

engine::Delta call(int index, const std::string& name, const std::string& arguments) {
  engine::Delta delta;
  delta.calls = {{index, name, arguments}};
  return delta;
}

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace lockstep::test
