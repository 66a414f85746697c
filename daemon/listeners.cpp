#include "daemon/listeners.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "daemon/exit_status.h"
#include "daemon/limits.h"

namespace lockstep::daemon {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& text) { throw StartFailure(ExitStatus::address, text); }

std::string reason(int error) { return std::string(" (") + std::strerror(error) + ")"; }

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

uint16_t parse_port(std::string_view text, const std::string& whole) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size())
    refuse("listen = \"" + whole +
           "\" is not ADDRESS:PORT; write for example \"127.0.0.1:8420\", \"[::1]:8420\" or "
           "\"none\"");
  return port;
}

Address parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const uint16_t port =
      parse_port(colon == std::string::npos ? "" : std::string_view(text).substr(colon + 1), text);
  std::string host = text.substr(0, colon);
  Address address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.size = sizeof v4;
  } else if (host.size() > 2 && host.front() == '[' && host.back() == ']' &&
             inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.size = sizeof v6;
  } else {
    parse_port("", text);
  }
  return address;
}

std::string local_name(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[INET6_ADDRSTRLEN] = "";
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  const auto& local = reinterpret_cast<const sockaddr_un&>(address);
  return {local.sun_path, strnlen(local.sun_path, sizeof local.sun_path)};
}

int new_socket(int family) {
  const int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) refuse("no socket can be made" + reason(errno));
  return descriptor;
}

// Leaves the way free for bind(), or says who is in it.
void clear_path(const fs::path& path, const sockaddr_un& address) {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0) return;
  if (!S_ISSOCK(about.st_mode))
    refuse(path.string() + " is in the way and is not a socket; move it, or set socket_dir");
  const int probe = new_socket(AF_UNIX);
  const bool answered = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = answered ? 0 : errno;
  close(probe);
  if (error != ECONNREFUSED)
    refuse(path.string() + " is in use by a running lockstepd; stop it, or set another socket_dir");
  if (unlink(path.c_str()) != 0)
    refuse(path.string() + " is left from an earlier run and cannot be removed" + reason(errno));
}

}  // namespace

ListeningSocket::ListeningSocket(Kind kind, int descriptor, std::string name)
    : kind_(kind), descriptor_(descriptor), name_(std::move(name)) {}

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : kind_(other.kind_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      name_(std::move(other.name_)),
      path_(std::exchange(other.path_, {})),
      device_(other.device_),
      inode_(other.inode_) {}

ListeningSocket::~ListeningSocket() {
  if (descriptor_ >= 0) close(descriptor_);
  struct stat about {};
  const bool ours = !path_.empty() && lstat(path_.c_str(), &about) == 0 && about.st_dev == device_ &&
                    about.st_ino == inode_;
  if (ours) unlink(path_.c_str());
}

bool ListeningSocket::reachable_from_elsewhere() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 != 127;
  if (address.ss_family != AF_INET6) return false;
  return !IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

int ListeningSocket::release_descriptor() { return std::exchange(descriptor_, -1); }

void ListeningSocket::remove_with(fs::path path) {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0) return;
  path_ = std::move(path);
  device_ = about.st_dev;
  inode_ = about.st_ino;
}

void check_address(const std::string& text) { parse_address(text); }

ListeningSocket listen_on_tcp(const std::string& text) {
  const Address address = parse_address(text);
  const int descriptor = new_socket(address.storage.ss_family);
  ListeningSocket owner(ListeningSocket::Kind::tcp, descriptor, text);
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound = bind(descriptor, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0;
  if (!bound || listen(descriptor, SOMAXCONN) != 0)
    refuse(text + " cannot be listened on" + reason(errno) +
           "; stop what uses it, or set another listen address");
  return {ListeningSocket::Kind::tcp, owner.release_descriptor(), local_name(descriptor)};
}

ListeningSocket listen_on_unix(ListeningSocket::Kind kind, const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() > limits::socket_path_bytes)
    refuse(path.string() + " has " + std::to_string(path.native().size()) +
           " bytes; a socket's path may have " + std::to_string(limits::socket_path_bytes) +
           ": set a shorter socket_dir");
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  clear_path(path, address);
  const int descriptor = new_socket(AF_UNIX);
  ListeningSocket listening(kind, descriptor, path.string());
  // The mode before bind() closes the moment in which others could connect; chmod() undoes the umask.
  fchmod(descriptor, 0660);
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    refuse(path.string() + " cannot be made" + reason(errno) +
           "; check the directory, or set another socket_dir");
  listening.remove_with(path);
  if (chmod(path.c_str(), 0660) != 0 || listen(descriptor, SOMAXCONN) != 0)
    refuse(path.string() + " cannot be listened on" + reason(errno));
  return listening;
}

std::vector<ListeningSocket> sockets_from_systemd() {
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  std::vector<ListeningSocket> sockets;
  std::string unknown;
  for (int i = 0; i < count; ++i) {
    const int descriptor = SD_LISTEN_FDS_START + i;
    const std::string name = names[i];
    free(names[i]);
    using Kind = ListeningSocket::Kind;
    if (name != "tcp" && name != "http" && name != "varlink") {
      unknown = name;
      close(descriptor);
      continue;
    }
    const Kind kind = name == "tcp" ? Kind::tcp : name == "http" ? Kind::http : Kind::varlink;
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    sockets.emplace_back(kind, descriptor, local_name(descriptor));
  }
  free(names);
  if (!unknown.empty())
    refuse("systemd passed a socket named '" + unknown +
           "'; FileDescriptorName= must be tcp, http or varlink");
  return sockets;
}

SocketDirectory::SocketDirectory(fs::path path) : path_(std::move(path)) {
  std::error_code ec;
  created_ = fs::create_directory(path_, ec);
  if (ec || !fs::is_directory(path_))
    refuse(path_.string() + " cannot be used as socket_dir" + (ec ? " (" + ec.message() + ")" : "") +
           "; create it, or set another");
}

SocketDirectory::~SocketDirectory() {
  if (created_) rmdir(path_.c_str());
}

}  // namespace lockstep::daemon
