// Reads the state of a TCP connection in the kernel, which read and write do not show.
#pragma once

#include <optional>

namespace isthmus {

struct TcpState {
  bool closed;         // reset, or timed out by the kernel
  bool window_closed;  // bytes wait because the peer's window is closed: the peer is slow, not dead
  int last_ack_ms;     // time since the peer's last acknowledgement
  int probes;          // unanswered probes since then
  int queued_bytes;    // unacknowledged and unsent bytes
  int received_segment_bytes;  // the kernel's estimate of the peer's segment size
};

// nullopt if the descriptor is not a TCP socket.
std::optional<TcpState> StateOfTcp(int fd);

}  // namespace isthmus
