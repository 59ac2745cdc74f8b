// Opens a path as a network namespace, verifies that it is one, and reads its identity. Never enters it.
#pragma once

#include <string>

#include "sys/sys_error.h"
#include "sys/unique_fd.h"

namespace isthmus {

// Never blocks and has no side effect on the file. The detail of an ENOTNETNS error names the actual kind of file.
Result<UniqueFd> OpenNetnsFile(const char* path);

// The identity of the netns in which `socket` was created: "cookie:<n>" (SO_NETNS_COOKIE, Linux 5.14). On an older kernel it
// is the "inode:<dev>:<ino>" of `netns`, which must be the handle that the thread entered.
Result<std::string> IdentityOfSocket(const UniqueFd& socket, const UniqueFd& netns);

// The same for the current netns of the calling thread.
Result<std::string> IdentityOfCurrentNetns(const UniqueFd& netns);

}  // namespace isthmus
