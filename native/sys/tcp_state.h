// What the kernel knows about a TCP connection that no read or write tells.
#pragma once

#include <optional>

namespace isthmus {

struct TcpState {
  bool closed;         // reset, or given up by the kernel
  bool window_closed;  // bytes wait because the peer takes none: it is slow, which is not dead
  int last_ack_ms;     // since the peer last acknowledged anything
  int probes;          // sent since then without an answer
  int queued_bytes;    // sent and not acknowledged, or not sent yet
  int received_segment_bytes;  // the kernel's estimate of what the peer sends in one segment
};

// Absent when the descriptor is no TCP socket.
std::optional<TcpState> StateOfTcp(int fd);

}  // namespace isthmus
