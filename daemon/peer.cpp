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

std::string describe_peer(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "unknown";
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(in.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(in.sin6_port));
  }
  const Caller caller = caller_of(descriptor);
  if (!caller.uid) return "unknown";
  return "uid=" + std::to_string(*caller.uid) + " pid=" + std::to_string(*caller.pid);
}

}  // namespace lockstep::daemon
