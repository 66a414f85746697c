#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <utility>

#include "daemon/app.h"
#include "daemon/command_line.h"
#include "daemon/events.h"
#include "daemon/inspection.h"
#include "daemon/log.h"
#include "daemon/sandbox/sandbox.h"
#include "ipc/ipc.h"

namespace lockstep::daemon {
namespace {

ExitStatus serve(const Configuration& configuration) {
  std::signal(SIGPIPE, SIG_IGN);  // of a reader of the log that has gone: serving goes on
  sandbox::close_inherited();
  sandbox::Sandbox sandbox(configuration);
  const App::OpenEngine open_engine = [&](const engine::Options& options, const auto& tell) {
    std::unique_ptr<engine::Engine> engine = engine::Engine::open(options, tell);
    sandbox.confine_calls();
    tell("sandbox: confined are " + sandbox.summary());
    return engine;
  };
  App app(configuration, open_engine,
          [&](bool owns_sockets, bool owns_directory) { sandbox.confine(owns_sockets, owns_directory); });
  const ExitStatus status = app.run();
  if (status == ExitStatus::failure) std::_Exit(static_cast<int>(status));
  return status;
}

}  // namespace
}  // namespace lockstep::daemon

int main(int argc, char** argv) {
  using namespace lockstep;
  using namespace lockstep::daemon;
  ipc::hold_standard_streams();
  try {
    const CommandLine command = read_command_line(argc, argv);
    set_log_level(command.configuration.log_level);
    engine::Options options = command.configuration.engine;
    const std::filesystem::path snapshots = std::exchange(options.snapshots, {});  // the served engine's only
    switch (command.action) {
      case CommandLine::Action::none: break;
      case CommandLine::Action::serve: return static_cast<int>(serve(command.configuration));
      case CommandLine::Action::print_sandbox: {
        sandbox::Sandbox sandbox(command.configuration);
        sandbox.confine(true, true);
        sandbox.confine_calls();
        std::cout << sandbox.text() << std::flush;
        break;
      }
      case CommandLine::Action::check_config:
        if (command.configuration.listen != "none") check_address(command.configuration.listen);
        print_configuration(command.configuration, std::cout);
        break;
      case CommandLine::Action::inspect: {
        const engine::Inspection model = engine::inspect(options);
        std::cout << (command.json ? inspection_json(model) : inspection_text(model)) << std::flush;
        return static_cast<int>(model.problems.empty() ? ExitStatus::success : ExitStatus::model);
      }
      case CommandLine::Action::self_test:
        return static_cast<int>(engine::self_test(std::cout, options.device, options.threads)
                                    ? ExitStatus::success
                                    : ExitStatus::failure);
      case CommandLine::Action::bench_kernels:
        engine::bench_kernels(std::cout, options.device, options.threads);
        break;
      case CommandLine::Action::bench_model: engine::bench_model(std::cout, options); break;
      case CommandLine::Action::bench_concurrent:
        if (!engine::bench_concurrent(std::cout, options, command.concurrent))
          return static_cast<int>(ExitStatus::failure);
        break;
      case CommandLine::Action::bench_cache:
        if (!engine::bench_cache(std::cout, options)) return static_cast<int>(ExitStatus::failure);
        break;
      case CommandLine::Action::bench_chat:
        if (!engine::bench_chat(std::cout, options)) return static_cast<int>(ExitStatus::failure);
        break;
      case CommandLine::Action::bench_gap:
        if (!engine::bench_gap(std::cout, options)) return static_cast<int>(ExitStatus::failure);
        break;
      case CommandLine::Action::check:
        if (!engine::check_laws(std::cout, options, command.trials, command.seed))
          return static_cast<int>(ExitStatus::failure);
        break;
      case CommandLine::Action::list_snapshots: engine::list_snapshots(std::cout, snapshots); break;
      case CommandLine::Action::verify_snapshots:
        if (!engine::verify_snapshots(std::cout, snapshots)) return static_cast<int>(ExitStatus::failure);
        break;
      case CommandLine::Action::remove_snapshots: engine::remove_snapshots(std::cout, snapshots); break;
    }
    return static_cast<int>(command.status);
  } catch (const StartFailure& failure) {
    log_event(event_of(failure.status), failure.what());
    return static_cast<int>(failure.status);
  } catch (const engine::StartError& error) {
    log_error(error.what());
    return static_cast<int>(status_of(error.kind));
  } catch (const engine::SnapshotError& error) {
    log_error(error.what());
    return static_cast<int>(ExitStatus::failure);
  } catch (const std::exception& error) {
    log_error(std::string("unexpected: ") + error.what());
    return static_cast<int>(ExitStatus::failure);
  }
}
