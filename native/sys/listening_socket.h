// A TCP socket that listens: where, and whether a descriptor that somebody handed to us is one at all.
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

// Where it listens, after it was made close-on-exec and non-blocking; ENOTLISTENING when it is anything else than a listening
// TCP socket. The descriptor stays the caller's.
Result<BoundAddress> AdoptListening(int fd);

}  // namespace isthmus
