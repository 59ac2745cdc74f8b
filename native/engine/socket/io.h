// The system calls of the data path, each in one place. They retry on EINTR and return errors as -errno. A test replaces them at link
// time to inject failures and short results (native/test/fault.h).
#pragma once

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace isthmus::io {

template <typename F>
long Retry(F&& call) {
  for (;;) {
    const long result = static_cast<long>(call());
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

inline long Receive(int fd, char* buffer, std::size_t size) {
  return Retry([&] { return ::recv(fd, buffer, size, 0); });
}

inline long Send(int fd, const char* bytes, std::size_t size) {
  return Retry([&] { return ::send(fd, bytes, size, MSG_NOSIGNAL); });
}

inline long SpliceIn(int from, int pipe, std::size_t size) {
  return Retry([&] { return ::splice(from, nullptr, pipe, nullptr, size, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); });
}

inline long SpliceOut(int pipe, int to, std::size_t size) {
  return Retry([&] { return ::splice(pipe, nullptr, to, nullptr, size, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); });
}

inline long Accept(int fd, sockaddr* address, socklen_t* length) {
  return Retry([&] { return ::accept4(fd, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC); });
}

inline long Connect(int fd, const sockaddr* address, socklen_t length) {
  // No retry: an interrupted connect continues in the kernel, and a second call would return EALREADY.
  return ::connect(fd, address, length) == 0 ? 0 : -(errno == EINTR ? EINPROGRESS : errno);
}

/** The pending error of a socket, 0 if none. */
inline int PendingError(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

/** Whether a read would return bytes or the end of the stream. */
inline bool Readable(int fd) {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

inline bool WouldBlock(long result) { return result == -EAGAIN || result == -EWOULDBLOCK; }

}  // namespace isthmus::io
