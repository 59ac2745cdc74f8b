// Reads the address of a listening TCP socket and validates a descriptor that another process passed to this one.
#pragma once

#include <optional>
#include <string>

#include "sys/sys_error.h"

namespace isthmus {

struct BoundAddress {
  std::string address;
  int port;
};

BoundAddress AddressOf(int fd);

// Makes the socket close-on-exec and non-blocking and returns its address. Fails with ENOTLISTENING if the descriptor is not a
// listening TCP socket. The caller keeps the descriptor.
Result<BoundAddress> AdoptListening(int fd);

}  // namespace isthmus
