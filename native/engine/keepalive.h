// Lets the kernel find dead peers, as docs/decisions/0006 says. On a listening socket it is inherited by what is accepted.
#pragma once

namespace isthmus {

// Errors are ignored in both: a peer that is gone already is told by the next read or write.
void NoDelay(int fd);
void KeepAlive(int fd, int dead_peer_timeout_ms);

}  // namespace isthmus
