#include "daemon/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace lockstep::daemon {

PeerState look_at_socket(int descriptor) {
  pollfd socket{descriptor, POLLRDHUP, 0};
  if (poll(&socket, 1, 0) < 0) return PeerState::present;
  if (socket.revents & (POLLERR | POLLHUP | POLLNVAL)) return PeerState::gone;
  return socket.revents & POLLRDHUP ? PeerState::half_closed : PeerState::present;
}

Caller caller_of(int descriptor) {
  ucred who{};
  socklen_t size = sizeof who;
  const bool told = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
  if (!told || who.uid == static_cast<uid_t>(-1)) return {};  // -1: TCP
  return {who.uid, who.pid};
}

std::string address_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[INET6_ADDRSTRLEN] = "";
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (address.ss_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  if (address.ss_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text, sizeof text);
  return text;
}

std::string describe_peer(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "unknown";
  // The port is at the same place in both.
  const std::string port = ":" + std::to_string(ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port));
  if (address.ss_family == AF_INET) return address_of(descriptor) + port;
  if (address.ss_family == AF_INET6) return "[" + address_of(descriptor) + "]" + port;
  const Caller caller = caller_of(descriptor);
  if (!caller.uid) return "unknown";
  return "uid=" + std::to_string(*caller.uid) + " pid=" + std::to_string(*caller.pid);
}

}  // namespace lockstep::daemon
