#include "engine/backends/target.h"

#include <cerrno>

namespace isthmus {

Result<std::shared_ptr<NetnsHandle>> NetnsSlot::Handle(HomeNetns& home) {
  const std::lock_guard lock(mutex_);
  if (handle_) return handle_;
  auto opened = NetnsHandle::Open(path_.c_str(), home);
  if (!opened.Ok()) return opened.Error();
  if (opened.Value().Identity() != identity_) {
    return SysError{ESTALE, "open", "ENETNSCHANGED", "the path now names another network namespace"};
  }
  auto handle = std::make_shared<NetnsHandle>(std::move(opened.Value()));
  if (!released_ && open_handles_.fetch_add(1, std::memory_order_relaxed) < most_handles_) handle_ = handle;
  else if (!released_) open_handles_.fetch_sub(1, std::memory_order_relaxed);
  return handle;
}

Result<UniqueFd> NetnsSlot::CreateTcpSocket(HomeNetns& home, AddressFamily family) {
  auto handle = Handle(home);
  if (!handle.Ok()) return handle.Error();
  return handle.Value()->CreateTcpSocket(home, family);
}

void NetnsSlot::Release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  if (!handle_) return;
  handle_.reset();
  open_handles_.fetch_sub(1, std::memory_order_relaxed);
}

Result<UniqueFd> Target::CreateSocket(HomeNetns& home) const {
  if (netns) return netns->CreateTcpSocket(home, Family());
  UniqueFd fd(::socket(address.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!fd.Valid()) return SysError{errno, "socket"};
  return fd;
}

}  // namespace isthmus
