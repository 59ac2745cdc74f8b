// Where a candidate is: an address in a netns. Made by the JavaScript thread, shared by the workers, never changed.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "engine/load.h"
#include "sys/netns_handle.h"

namespace isthmus {

// A netns that routes name, opened when it is first dialled, and kept open if there are not too many. Once released it keeps
// no descriptor any more: a dial that comes later opens one for itself.
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
  std::shared_ptr<NetnsSlot> netns;  // none: the process's own
  sockaddr_in6 address{};            // or a sockaddr_in, by its family
  socklen_t length = 0;
  std::atomic<int> pending_dials{0};
  LoadRef load;                      // what is known of this place, also when it was another target before

  AddressFamily Family() const { return address.sin6_family == AF_INET ? AddressFamily::kIpv4 : AddressFamily::kIpv6; }
  Result<UniqueFd> CreateSocket(HomeNetns& home) const;
};

}  // namespace isthmus
