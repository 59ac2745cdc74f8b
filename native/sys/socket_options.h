// The socket options that Node has no call for. The descriptor stays the caller's.
#pragma once

#include <optional>

#include "sys/sys_error.h"

namespace isthmus {

[[nodiscard]] std::optional<SysError> SetUserTimeout(int fd, int milliseconds);
// No seconds: off. 0: close() sends a reset.
[[nodiscard]] std::optional<SysError> SetLinger(int fd, std::optional<int> seconds);
[[nodiscard]] std::optional<SysError> SetQuickAck(int fd, bool on);

}  // namespace isthmus
