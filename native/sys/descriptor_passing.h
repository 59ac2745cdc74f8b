// Descriptors that travel over a connected unix socket (SCM_RIGHTS), and who is at its other end. Never waits.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sys/sys_error.h"
#include "sys/unique_fd.h"

namespace isthmus {

// The kernel's own bound (SCM_MAX_FD) on one message.
inline constexpr std::size_t kMostDescriptors = 253;

// The descriptors stay the caller's; they go with the first byte. How many bytes were taken: the caller sends the rest.
Result<std::size_t> SendDescriptors(int socket, const std::string& bytes, const std::vector<int>& descriptors);

struct Received {
  std::string bytes;  // none: the other end is closed
  std::vector<UniqueFd> descriptors;  // close-on-exec
};
// One read. Bytes that came with descriptors are never mixed with those of another message that has some.
Result<Received> ReceiveDescriptors(int socket, std::size_t most_bytes);

struct Peer {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};
// Of the moment when the connection was made; the process id as this process sees it, 0 if it cannot.
Result<Peer> PeerOf(int socket);

}  // namespace isthmus
