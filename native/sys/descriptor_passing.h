// Passes descriptors over a connected Unix socket (SCM_RIGHTS) and reads the credentials of its peer. Never blocks.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sys/sys_error.h"
#include "sys/unique_fd.h"

namespace isthmus {

// The kernel's limit per message (SCM_MAX_FD).
inline constexpr std::size_t kMostDescriptors = 253;

// Sends the descriptors with the first byte; the caller keeps its own copies. Returns how many bytes the kernel accepted:
// the caller sends the rest.
Result<std::size_t> SendDescriptors(int socket, const std::string& bytes, const std::vector<int>& descriptors);

struct Received {
  std::string bytes;  // empty: the peer closed the connection
  std::vector<UniqueFd> descriptors;  // close-on-exec
};
// One read. The kernel never merges the bytes of two messages that both carry descriptors.
Result<Received> ReceiveDescriptors(int socket, std::size_t most_bytes);

struct Peer {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};
// The credentials at connect time. The pid is relative to this process's PID namespace, and 0 if the peer is not visible there.
Result<Peer> PeerOf(int socket);

}  // namespace isthmus
