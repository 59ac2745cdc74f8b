// The socket options that Node has no call for. The descriptor stays the caller's.
#pragma once

#include <optional>

#include "sys/sys_error.h"

namespace isthmus {

[[nodiscard]] std::optional<SysError> SetUserTimeout(int fd, int milliseconds);
// No seconds: off. 0: close() sends a reset.
[[nodiscard]] std::optional<SysError> SetLinger(int fd, std::optional<int> seconds);
[[nodiscard]] std::optional<SysError> SetQuickAck(int fd, bool on);
// Fixed from now on; the kernel takes net.core.rmem_max where that is less.
[[nodiscard]] std::optional<SysError> SetReceiveBuffer(int fd, int bytes);
// Bytes that may wait to be sent (TCP_NOTSENT_LOWAT).
[[nodiscard]] std::optional<SysError> SetUnsentBytes(int fd, int bytes);

}  // namespace isthmus
