// An open network namespace: reads its identity and creates TCP sockets inside it. An open handle keeps the netns alive in
// the kernel. One thread uses a handle at a time; each `home` argument belongs to the calling thread.
#pragma once

#include <string>

#include "sys/netns_scope.h"
#include "sys/sys_error.h"
#include "sys/unique_fd.h"

namespace isthmus {

enum class AddressFamily { kIpv4, kIpv6 };

class NetnsHandle {
 public:
  // Enters the netns once to read its identity.
  static Result<NetnsHandle> Open(const char* path, HomeNetns& home);

  const std::string& Identity() const { return identity_; }
  bool Closed() const { return !fd_.Valid(); }
  void Close() { fd_.Reset(); }

  // Returns an unconnected socket: non-blocking, close-on-exec. Do not call it on a closed handle.
  Result<UniqueFd> CreateTcpSocket(HomeNetns& home, AddressFamily family) const;

 private:
  NetnsHandle(UniqueFd fd, std::string identity) : fd_(std::move(fd)), identity_(std::move(identity)) {}

  UniqueFd fd_;
  std::string identity_;
};

// For callers without a handle: opens the netns, creates one socket as above, and closes the netns. Fails with ENETNSCHANGED
// if the netns at the path has another identity.
Result<UniqueFd> CreateTcpSocketIn(const char* path, const std::string& identity, HomeNetns& home, AddressFamily family);
// The same in the current netns of the calling thread.
Result<UniqueFd> CreateTcpSocketHere(AddressFamily family);

}  // namespace isthmus
