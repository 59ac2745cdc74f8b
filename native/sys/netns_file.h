// Opens a path as a network namespace, proves that it is one, and tells which. Never enters it.
#pragma once

#include <string>

#include "sys/sys_error.h"
#include "sys/unique_fd.h"

namespace isthmus {

// Never blocks and has no side effect on what the path turns out to be; ENOTNETNS says what that is instead.
Result<UniqueFd> OpenNetnsFile(const char* path);

// The identity of the netns in which `socket` was made: "cookie:<n>" (SO_NETNS_COOKIE, Linux 5.14), else the
// "inode:<dev>:<ino>" of `netns`, through which the thread had entered.
Result<std::string> IdentityOfSocket(const UniqueFd& socket, const UniqueFd& netns);

// The same for the netns in which the calling thread is now.
Result<std::string> IdentityOfCurrentNetns(const UniqueFd& netns);

}  // namespace isthmus
