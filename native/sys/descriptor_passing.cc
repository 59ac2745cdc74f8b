#include "sys/descriptor_passing.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace isthmus {

Result<std::size_t> SendDescriptors(int socket, const std::string& bytes, const std::vector<int>& descriptors) {
  if (bytes.empty() || descriptors.size() > kMostDescriptors) return SysError{EINVAL, "sendmsg"};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t size = descriptors.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), descriptors.data(), size);
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno != EINTR) return SysError{errno, "sendmsg"};
  }
}

Result<Received> ReceiveDescriptors(int socket, std::size_t most_bytes) {
  Received received;
  received.bytes.resize(most_bytes);
  iovec part{received.bytes.data(), received.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = -1;
  do {
    size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return SysError{errno, "recvmsg"};
  received.bytes.resize(static_cast<std::size_t>(size));
  // Every received descriptor gets an owner before any error return. Otherwise it would leak.
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; i += 1) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      received.descriptors.emplace_back(fd);
    }
  }
  // The kernel dropped descriptors because this process has no free descriptor numbers.
  if ((message.msg_flags & MSG_CTRUNC) != 0) return SysError{EMFILE, "recvmsg"};
  return received;
}

Result<Peer> PeerOf(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return SysError{errno, "getsockopt"};
  return Peer{credentials.pid, credentials.uid, credentials.gid};
}

}  // namespace isthmus
