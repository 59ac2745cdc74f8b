// One candidate: an address in a netns. The JavaScript thread creates targets, and the workers share them. Only the counters and the open
// netns handle change.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "engine/backends/load.h"
#include "sys/netns_handle.h"

namespace isthmus {

// A netns that routes refer to. The first dial opens it, and the slot keeps it open while the number of handles is within the limit. After
// Release() the slot keeps no descriptor, and a later dial opens its own.
class NetnsSlot {
 public:
  NetnsSlot(std::string path, std::string identity, std::atomic<int>& open_handles, int most_handles)
      : path_(std::move(path)), identity_(std::move(identity)), open_handles_(open_handles), most_handles_(most_handles) {}
  ~NetnsSlot() { Release(); }
  NetnsSlot(const NetnsSlot&) = delete;
  NetnsSlot& operator=(const NetnsSlot&) = delete;

  Result<UniqueFd> CreateTcpSocket(HomeNetns& home, AddressFamily family);
  void Release();

 private:
  Result<std::shared_ptr<NetnsHandle>> Handle(HomeNetns& home);

  const std::string path_;
  const std::string identity_;
  std::atomic<int>& open_handles_;
  const int most_handles_;
  std::mutex mutex_;
  std::shared_ptr<NetnsHandle> handle_;
  bool released_ = false;
};

struct Target {
  std::shared_ptr<NetnsSlot> netns;  // null: the netns of the process
  sockaddr_in6 address{};            // or a sockaddr_in, depending on the family
  socklen_t length = 0;
  std::atomic<int> pending_dials{0};
  LoadRef load;                      // shared by all targets with the same netns, address and port, including dropped ones

  AddressFamily Family() const { return address.sin6_family == AF_INET ? AddressFamily::kIpv4 : AddressFamily::kIpv6; }
  Result<UniqueFd> CreateSocket(HomeNetns& home) const;
};

}  // namespace isthmus
