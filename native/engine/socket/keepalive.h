// Socket options that make the kernel detect dead peers (docs/decisions/0006). Accepted sockets inherit them from the listening socket.
#pragma once

namespace isthmus {

// Both ignore errors: if the peer has disconnected, the next read or write reports it.
void NoDelay(int fd);
void KeepAlive(int fd, int dead_peer_timeout_ms);

}  // namespace isthmus
