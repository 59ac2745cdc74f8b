// Sets socket options that Node has no call for. The caller keeps the descriptor.
#pragma once

#include <optional>

#include "sys/sys_error.h"

namespace isthmus {

[[nodiscard]] std::optional<SysError> SetUserTimeout(int fd, int milliseconds);
// nullopt switches it off. With 0, close() sends a reset.
[[nodiscard]] std::optional<SysError> SetLinger(int fd, std::optional<int> seconds);
[[nodiscard]] std::optional<SysError> SetQuickAck(int fd, bool on);
// Also disables the kernel's autotuning of the buffer. The kernel grants at most net.core.rmem_max.
[[nodiscard]] std::optional<SysError> SetReceiveBuffer(int fd, int bytes);
// Limits the unsent bytes in the send queue (TCP_NOTSENT_LOWAT).
[[nodiscard]] std::optional<SysError> SetUnsentBytes(int fd, int bytes);

}  // namespace isthmus
