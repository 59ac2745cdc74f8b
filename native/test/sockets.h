// Sockets for tests: loopback only, non-blocking. The byte pattern reveals a lost or moved byte.
#pragma once

#include <cstddef>

#include "sys/unique_fd.h"

namespace isthmus {

UniqueFd ListenOnLoopback(int backlog);
int PortOf(int fd);
// Returns a connected or connecting socket. For both sizes 0 leaves it to the kernel.
int ConnectToLoopback(int port, int receive_buffer, int segment_bytes = 0);
// The next close() sends a reset.
void ResetOnClose(int fd);

// SendPattern sends part of the bytes from `sent` to `total`; ReceivePattern receives some. False: no byte moved.
bool SendPattern(int fd, std::size_t& sent, std::size_t total);
bool ReceivePattern(int fd, std::size_t& received, bool& right);

}  // namespace isthmus
