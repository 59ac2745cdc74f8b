#include "sys/netns_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>

// Kernel ABI that older headers lack.
#ifndef NSFS_MAGIC
#define NSFS_MAGIC 0x6e736673
#endif
#ifndef NS_GET_NSTYPE
#define NS_GET_NSTYPE _IO(0xb7, 0x3)
#endif
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

namespace isthmus {
namespace {

SysError NotNetns(const char* what) { return {EINVAL, "open", "ENOTNETNS", what}; }

const char* KindOfFile(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return "not a network namespace: an unknown kind of file";
  switch (status.st_mode & S_IFMT) {
    case S_IFREG:
      // `ip netns add` creates the file first and then mounts the netns on it. A lost mount looks the same.
      return status.st_size == 0 ? "not a network namespace: an empty regular file on which nothing is mounted"
                                 : "not a network namespace: a regular file";
    case S_IFDIR:
      return "not a network namespace: a directory";
    case S_IFIFO:
      return "not a network namespace: a FIFO";
    case S_IFCHR:
      return "not a network namespace: a character device";
    case S_IFBLK:
      return "not a network namespace: a block device";
    default:
      return "not a network namespace: an unknown kind of file";
  }
}

const char* KindOfNamespace(int type) {
  switch (type) {
    case CLONE_NEWNS:
      return "not a network namespace: a mount namespace";
    case CLONE_NEWUSER:
      return "not a network namespace: a user namespace";
    case CLONE_NEWPID:
      return "not a network namespace: a PID namespace";
    case CLONE_NEWUTS:
      return "not a network namespace: a UTS namespace";
    case CLONE_NEWIPC:
      return "not a network namespace: an IPC namespace";
    case CLONE_NEWCGROUP:
      return "not a network namespace: a cgroup namespace";
    case CLONE_NEWTIME:
      return "not a network namespace: a time namespace";
    default:
      return "not a network namespace: a namespace of an unknown kind";
  }
}

}  // namespace

Result<UniqueFd> OpenNetnsFile(const char* path) {
  // Without O_NONBLOCK, open() of a FIFO without a writer would block. Without O_NOCTTY, a terminal would become our controlling terminal.
  UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.Valid()) return SysError{errno, "open"};

  struct statfs file_system {};
  if (::fstatfs(fd.Get(), &file_system) != 0) return SysError{errno, "fstatfs"};
  if (static_cast<unsigned long>(file_system.f_type) != NSFS_MAGIC) return NotNetns(KindOfFile(fd.Get()));

  const int type = ::ioctl(fd.Get(), NS_GET_NSTYPE);
  if (type < 0) return SysError{errno, "ioctl"};
  if (type != CLONE_NEWNET) return NotNetns(KindOfNamespace(type));
  return fd;
}

Result<std::string> IdentityOfSocket(const UniqueFd& socket, const UniqueFd& netns) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (::getsockopt(socket.Get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0) {
    return "cookie:" + std::to_string(cookie);
  }
  if (errno != ENOPROTOOPT) return SysError{errno, "getsockopt"};

  // The kernel reuses the inode after the last handle is closed, so this identity is valid only while `netns` is open.
  struct stat status {};
  if (::fstat(netns.Get(), &status) != 0) return SysError{errno, "fstat"};
  return "inode:" + std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

Result<std::string> IdentityOfCurrentNetns(const UniqueFd& netns) {
  // Any socket has the cookie. AF_UNIX is the cheapest and also works where IPv4 or IPv6 is disabled.
  const UniqueFd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.Valid()) return SysError{errno, "socket"};
  return IdentityOfSocket(probe, netns);
}

}  // namespace isthmus
