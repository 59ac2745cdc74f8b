#include "engine/socket/queue_bounds.h"

#include "sys/socket_options.h"

namespace isthmus {
namespace {

constexpr int kUnsentBytes = 192 * 1024;

}  // namespace

// Without bounds the kernel widens both buffers to tens of megabytes for a fast flow. They stay full when the reader stops.
void BoundQueues(int from, int to, int receive_bytes) {
  static_cast<void>(SetReceiveBuffer(from, receive_bytes));
  static_cast<void>(SetUnsentBytes(to, kUnsentBytes));
}

}  // namespace isthmus
