// Bounds the bytes that the kernel queues for one direction of a connection whose reader is slow or never reads.
#pragma once

#include <cstdint>

namespace isthmus {

// A flow is bounded once it has moved this many bytes. Shorter exchanges need no such system calls. A
// larger value is unsafe: until the bound is set, the kernel widens the buffer. When the bound then shrinks the buffer, the kernel drops
// segments that fit the window which it has already advertised.
constexpr std::uint64_t kUnboundedBytes = 64 * 1024;

// SO_RCVBUF for the source of a flow. The kernel doubles the value for its own bookkeeping and grants at most net.core.rmem_max.
// Segments of MTU size need more memory for the same bytes, so a few bulk flows among them get the wide buffer. A flow keeps it
// until its source ends, or until it has moved nothing in bulk for a while. docs/decisions/0018 has the measurements.
constexpr int kNarrowReceiveBytes = 128 * 1024;
constexpr int kWideReceiveBytes = 2304 * 1024;
constexpr int kMostWideFlows = 8;
// For segments that are larger than on any physical network, such as those of loopback.
constexpr int kLargeSegmentBytes = 16 * 1024;
constexpr int kLargeSegmentReceiveBytes = 512 * 1024;

void BoundQueues(int from, int to, int receive_bytes);

}  // namespace isthmus
