#include "engine/queue_bounds.h"

#include "sys/socket_options.h"

namespace isthmus {
namespace {

constexpr int kUnsentBytes = 192 * 1024;

}  // namespace

// Left alone, the kernel widens both to tens of megabytes for a fast flow, and they stay full when the reader stops.
void BoundQueues(int from, int to, int receive_bytes) {
  static_cast<void>(SetReceiveBuffer(from, receive_bytes));
  static_cast<void>(SetUnsentBytes(to, kUnsentBytes));
}

}  // namespace isthmus
