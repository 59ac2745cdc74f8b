// An open network namespace: its identity, and new TCP sockets inside it. Holding one keeps the netns alive in the kernel.
// Belongs to one thread at a time; the HomeNetns passed in is always the calling thread's.
#pragma once

#include <string>

#include "sys/netns_scope.h"
#include "sys/sys_error.h"
#include "sys/unique_fd.h"

namespace isthmus {

enum class AddressFamily { kIpv4, kIpv6 };

class NetnsHandle {
 public:
  // Enters the netns once, to read its identity.
  static Result<NetnsHandle> Open(const char* path, HomeNetns& home);

  const std::string& Identity() const { return identity_; }
  bool Closed() const { return !fd_.Valid(); }
  void Close() { fd_.Reset(); }

  // Unconnected, non-blocking, close-on-exec. Not on a closed handle.
  Result<UniqueFd> CreateTcpSocket(HomeNetns& home, AddressFamily family) const;

 private:
  NetnsHandle(UniqueFd fd, std::string identity) : fd_(std::move(fd)), identity_(std::move(identity)) {}

  UniqueFd fd_;
  std::string identity_;
};

// For those who keep no handle: opens the netns, makes one socket of the same kind in it, and closes it again. ENETNSCHANGED when
// the path leads to another netns than the one of this identity.
Result<UniqueFd> CreateTcpSocketIn(const char* path, const std::string& identity, HomeNetns& home, AddressFamily family);
// The same in the netns in which the calling thread is.
Result<UniqueFd> CreateTcpSocketHere(AddressFamily family);

}  // namespace isthmus
