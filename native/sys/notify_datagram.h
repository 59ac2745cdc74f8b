// Sends one datagram to the supervisor's Unix socket (sd_notify(3)). Node has no call for that. Never blocks.
#pragma once

#include <optional>
#include <string>

#include "sys/sys_error.h"

namespace isthmus {

// `address` has the format of NOTIFY_SOCKET: a path, or `@` and an abstract name.
[[nodiscard]] std::optional<SysError> SendNotification(const std::string& address, const std::string& text);

}  // namespace isthmus
