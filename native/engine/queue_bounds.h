// Bounds what the kernel holds for one direction of a connection whose reader is slow, or never reads.
#pragma once

#include <cstdint>

namespace isthmus {

// A flow is bounded once it has moved so much: until then the kernel's own buffers are smaller, and short exchanges are spared the calls.
constexpr std::uint64_t kUnboundedBytes = 256 * 1024;

void BoundQueues(int from, int to);

}  // namespace isthmus
