#include "sys/netns_handle.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "sys/netns_file.h"

namespace isthmus {
namespace {

constexpr const char* kReplaced =
    "the descriptor of this handle now refers to another network namespace: other code in this process closed it";

}  // namespace

Result<NetnsHandle> NetnsHandle::Open(const char* path, HomeNetns& home) {
  auto fd = OpenNetnsFile(path);
  if (!fd.Ok()) return fd.Error();

  const NetnsScope inside(home, fd.Value());
  if (inside.Error()) return *inside.Error();
  auto identity = IdentityOfCurrentNetns(fd.Value());
  if (!identity.Ok()) return identity.Error();
  return NetnsHandle(std::move(fd.Value()), std::move(identity.Value()));
}

Result<UniqueFd> NetnsHandle::CreateTcpSocket(HomeNetns& home, AddressFamily family) const {
  const NetnsScope inside(home, fd_);
  if (inside.Error()) return *inside.Error();
  auto socket = CreateTcpSocketHere(family);
  if (!socket.Ok()) return socket.Error();
  // A double close elsewhere in the process can close fd_, and its number can then refer to another tenant's netns.
  // So the identity is verified, and a socket of another netns is closed before any dial.
  auto identity = IdentityOfSocket(socket.Value(), fd_);
  if (!identity.Ok()) return identity.Error();
  if (identity.Value() != identity_) return SysError{EBADF, "setns", nullptr, kReplaced};
  return socket;
}

Result<UniqueFd> CreateTcpSocketIn(const char* path, const std::string& identity, HomeNetns& home, AddressFamily family) {
  auto netns = OpenNetnsFile(path);
  if (!netns.Ok()) return netns.Error();
  const NetnsScope inside(home, netns.Value());
  if (inside.Error()) return *inside.Error();
  auto socket = CreateTcpSocketHere(family);
  if (!socket.Ok()) return socket.Error();
  auto found = IdentityOfSocket(socket.Value(), netns.Value());
  if (!found.Ok()) return found.Error();
  if (found.Value() != identity) return SysError{ESTALE, "open", "ENETNSCHANGED", "the path now names another network namespace"};
  return socket;
}

Result<UniqueFd> CreateTcpSocketHere(AddressFamily family) {
  // A socket stays in the netns in which it was created, so connect() and later calls need no setns().
  const int domain = family == AddressFamily::kIpv4 ? AF_INET : AF_INET6;
  UniqueFd socket(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!socket.Valid()) return SysError{errno, "socket"};
  return socket;
}

}  // namespace isthmus
