#include "engine/queue_bounds.h"

#include "sys/socket_options.h"

namespace isthmus {
namespace {

// The kernel counts twice as much, for its own bookkeeping. It grants no more than net.core.rmem_max.
constexpr int kReceiveBufferBytes = 512 * 1024;
constexpr int kUnsentBytes = 192 * 1024;

}  // namespace

// Left alone, the kernel widens both to tens of megabytes for a fast flow, and they stay full when the reader stops.
void BoundQueues(int from, int to) {
  static_cast<void>(SetReceiveBuffer(from, kReceiveBufferBytes));
  static_cast<void>(SetUnsentBytes(to, kUnsentBytes));
}

}  // namespace isthmus
