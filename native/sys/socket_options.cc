#include "sys/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace isthmus {
namespace {

template <typename T>
std::optional<SysError> Set(int fd, int level, int option, const T& value) {
  if (::setsockopt(fd, level, option, &value, sizeof value) != 0) return SysError{errno, "setsockopt"};
  return std::nullopt;
}

}  // namespace

std::optional<SysError> SetUserTimeout(int fd, int milliseconds) {
  return Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds);
}

std::optional<SysError> SetLinger(int fd, std::optional<int> seconds) {
  const struct linger value {seconds.has_value() ? 1 : 0, seconds.value_or(0)};
  return Set(fd, SOL_SOCKET, SO_LINGER, value);
}

std::optional<SysError> SetReceiveBuffer(int fd, int bytes) { return Set(fd, SOL_SOCKET, SO_RCVBUF, bytes); }

std::optional<SysError> SetUnsentBytes(int fd, int bytes) { return Set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, bytes); }

std::optional<SysError> SetQuickAck(int fd, bool on) { return Set(fd, IPPROTO_TCP, TCP_QUICKACK, on ? 1 : 0); }

}  // namespace isthmus
