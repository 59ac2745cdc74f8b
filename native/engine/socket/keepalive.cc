#include "engine/socket/keepalive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "sys/socket_options.h"

namespace isthmus {
namespace {

void Set(int fd, int level, int option, int value) {
  static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
}

}  // namespace

void NoDelay(int fd) { Set(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

void KeepAlive(int fd, int dead_peer_timeout_ms) {
  if (dead_peer_timeout_ms == 0) return;
  Set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, dead_peer_timeout_ms / 3000));
  Set(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, dead_peer_timeout_ms / 30'000));
  static_cast<void>(SetUserTimeout(fd, dead_peer_timeout_ms));
}

}  // namespace isthmus
