// One message to whoever supervises us (sd_notify(3)): a datagram to a unix socket, which Node has no call for. Never waits.
#pragma once

#include <optional>
#include <string>

#include "sys/sys_error.h"

namespace isthmus {

// `address` as NOTIFY_SOCKET says it: a path, or `@` and an abstract name.
[[nodiscard]] std::optional<SysError> SendNotification(const std::string& address, const std::string& text);

}  // namespace isthmus
