// The sockets of tests: loopback only, non-blocking, and bytes in a pattern by which one that is lost or moved is seen.
#pragma once

#include <cstddef>

#include "sys/unique_fd.h"

namespace isthmus {

UniqueFd ListenOnLoopback(int backlog);
int PortOf(int fd);
// Connected, or on the way; a receive buffer of 0 is the kernel's own choice.
int ConnectToLoopback(int port, int receive_buffer);
// The next close says RST.
void ResetOnClose(int fd);

// Sends some of the bytes from `sent` to `total`, and receives some; false when that was none.
bool SendPattern(int fd, std::size_t& sent, std::size_t total);
bool ReceivePattern(int fd, std::size_t& received, bool& right);

}  // namespace isthmus
