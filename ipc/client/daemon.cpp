#include "ipc/client/daemon.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ipc/client/terminal.h"

namespace lockstep::ipc::client {

namespace {

constexpr char system_socket[] = "/run/lockstep/org.lockstep.Inference";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The socket is a group's: how to become a member.
std::string permission_advice(const std::string& path) {
  struct stat info {};
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::stat(path.c_str(), &info) < 0 && ::stat(folder.c_str(), &info) < 0)
    return "ask its owner for permission";
  const group* owner = info.st_gid == 0 ? nullptr : ::getgrgid(info.st_gid);
  if (!owner) return "run this as the user who owns it";
  const std::string name = owner->gr_name;
  return "it is for members of the group " + name + ": sudo usermod -aG " + name +
         " $USER, then log in again";
}

std::string start_command(const std::string& path) {
  const std::string runtime = environment("XDG_RUNTIME_DIR");
  const bool own = !runtime.empty() && path.starts_with(runtime + "/");
  return own ? "systemctl --user start lockstepd" : "systemctl start lockstepd";
}

}  // namespace

std::string socket_path(const Arguments& arguments) {
  if (const auto path = arguments.value("--socket")) return *path;
  if (const std::string path = environment("LOCKSTEP_SOCKET"); !path.empty()) return path;
  if (const std::string runtime = environment("XDG_RUNTIME_DIR"); !runtime.empty()) {
    const std::string path = runtime + "/lockstep/org.lockstep.Inference";
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  return system_socket;
}

Failure failure_of(const ConnectionError& error, const std::string& path) {
  switch (error.number) {
    case ENOENT:
    case ECONNREFUSED:
      return {exit_unreachable, "no daemon listens on " + path + ": start it (" + start_command(path) +
                                    "), or name another socket with --socket"};
    case EACCES:
    case EPERM: return {exit_unreachable, "no permission to use " + path + ": " + permission_advice(path)};
    case 0: return {exit_unreachable, std::string(error.what()) + ": journalctl -u lockstepd says why"};
    default: return {exit_unreachable, error.what()};
  }
}

Failure failure_of(const Error& error) {
  switch (error.kind) {
    case Error::Kind::busy: return {exit_try_later, "the daemon is busy, try again later: " + error.message};
    case Error::Kind::not_ready:
      return {exit_try_later, "the daemon is not ready, try again later: " + error.message};
    case Error::Kind::context_overflow:
      return {exit_failed, "the question and its context have " + std::to_string(error.given) +
                               " tokens, the model takes " + std::to_string(error.limit) + ": shorten them"};
    case Error::Kind::bad_request: return {exit_failed, "refused: " + error.message};
    case Error::Kind::device_fault:
      return {exit_failed, "the daemon failed: " + error.message + " (journalctl -u lockstepd says more)"};
    case Error::Kind::cancelled: return {exit_failed, error.message};
    case Error::Kind::no_such_request:
      return {exit_failed, "no request " + error.field + " of yours is in work (lockstep status lists them)"};
    case Error::Kind::permission_denied:
      return {exit_failed, "only root and the service's user may do this: try sudo"};
    case Error::Kind::other: break;
  }
  return {exit_failed, "the daemon answered with an error: " + error.message};
}

Connection connect(const std::string& path) {
  try {
    return Connection(path);
  } catch (const ConnectionError& error) {
    throw failure_of(error, path);
  }
}

std::string answer_to(const std::string& path, std::string_view method, std::string_view parameters) {
  Connection connection = connect(path);
  try {
    connection.call(method, parameters, false);
    Reply reply = connection.receive();
    if (reply.error) throw failure_of(*reply.error);
    return std::move(reply.parameters);
  } catch (const ConnectionError& error) {
    throw failure_of(error, path);
  } catch (const ProtocolError& error) {
    throw Failure(exit_failed, error.what());
  }
}

int query(const Arguments& arguments, std::string_view method, std::string_view parameters,
          const std::function<std::string(const std::string&)>& show) {
  const std::string reply = answer_to(socket_path(arguments), method, parameters);
  try {
    if (!arguments.given("--json"))
      write_answer(readable(show(reply)));
    else
      write_answer((::isatty(STDOUT_FILENO) == 1 ? harmless(reply) : reply) + "\n");
    return exit_ok;
  } catch (const ProtocolError& error) {
    throw Failure(exit_failed, error.what());
  }
}

}  // namespace lockstep::ipc::client
