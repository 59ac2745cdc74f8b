#include "sys/listening_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace isthmus {
namespace {

// -1 if the option cannot be read, for example because the descriptor is not a socket.
int Option(int fd, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

}  // namespace

BoundAddress AddressOf(int fd) {
  sockaddr_in6 bound{};
  socklen_t length = sizeof bound;
  static_cast<void>(::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length));
  char text[INET6_ADDRSTRLEN] = "";
  if (bound.sin6_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(bound);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {text, ntohs(v4.sin_port)};
  }
  ::inet_ntop(AF_INET6, &bound.sin6_addr, text, sizeof text);
  return {text, ntohs(bound.sin6_port)};
}

Result<BoundAddress> AdoptListening(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return SysError{errno, "fcntl"};
  const int family = Option(fd, SO_DOMAIN);
  if ((family != AF_INET && family != AF_INET6) || Option(fd, SO_PROTOCOL) != IPPROTO_TCP ||
      Option(fd, SO_ACCEPTCONN) != 1) {
    return SysError{ENOTSUP, "getsockopt", "ENOTLISTENING", "the descriptor is not a listening TCP socket"};
  }
  // systemd passes blocking sockets. With a blocking socket, a worker could block in accept() and stop serving its connections.
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return SysError{errno, "fcntl"};
  }
  return AddressOf(fd);
}

}  // namespace isthmus
