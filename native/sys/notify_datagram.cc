#include "sys/notify_datagram.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "sys/unique_fd.h"

namespace isthmus {

std::optional<SysError> SendNotification(const std::string& address, const std::string& text) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  // A path needs its terminating zero byte. The length argument of sendto() delimits an abstract name.
  const bool is_abstract = !address.empty() && address[0] == '@';
  if (address.empty() || address.size() + (is_abstract ? 0 : 1) > sizeof where.sun_path) {
    return SysError{EINVAL, "sendto", nullptr, "not an address of a Unix socket"};
  }
  std::memcpy(where.sun_path, address.data(), address.size());
  if (is_abstract) where.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() + (is_abstract ? 0 : 1));

  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.Valid()) return SysError{errno, "socket"};
  for (;;) {
    const ssize_t sent =
        ::sendto(fd.Get(), text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&where), length);
    if (sent >= 0) return std::nullopt;
    if (errno != EINTR) return SysError{errno, "sendto"};
  }
}

}  // namespace isthmus
