// The system calls of the data path, each at one place: retried on EINTR, errors as -errno. With ISTHMUS_FAULTS a test can
// make any of them fail or fall short (native/test/fault.h); without it these are plain calls.
#pragma once

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#ifdef ISTHMUS_FAULTS
#include "test/fault.h"
#define ISTHMUS_FAULT(call, wanted) \
  if (const long fault = isthmus::fault::Next(isthmus::fault::Call::call, wanted); fault != isthmus::fault::kNone) return fault
#else
#define ISTHMUS_FAULT(call, wanted) static_cast<void>(0)
#endif

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
  ISTHMUS_FAULT(kReceive, size);
  return Retry([&] { return ::recv(fd, buffer, size, 0); });
}

inline long Send(int fd, const char* bytes, std::size_t size) {
  ISTHMUS_FAULT(kSend, size);
  return Retry([&] { return ::send(fd, bytes, size, MSG_NOSIGNAL); });
}

inline long SpliceIn(int from, int pipe, std::size_t size) {
  ISTHMUS_FAULT(kSpliceIn, size);
  return Retry([&] { return ::splice(from, nullptr, pipe, nullptr, size, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); });
}

inline long SpliceOut(int pipe, int to, std::size_t size) {
  ISTHMUS_FAULT(kSpliceOut, size);
  return Retry([&] { return ::splice(pipe, nullptr, to, nullptr, size, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); });
}

inline long Accept(int fd, sockaddr* address, socklen_t* length) {
  ISTHMUS_FAULT(kAccept, 0);
  return Retry([&] { return ::accept4(fd, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC); });
}

inline long Connect(int fd, const sockaddr* address, socklen_t length) {
  ISTHMUS_FAULT(kConnect, 0);
  // Not retried: an interrupted connect goes on by itself, and to ask again would say EALREADY.
  return ::connect(fd, address, length) == 0 ? 0 : -(errno == EINTR ? EINPROGRESS : errno);
}

/** The error that waits on a socket, 0 if none. */
inline int PendingError(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

/** Whether there are bytes, or an end, to be read. */
inline bool Readable(int fd) {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

inline bool WouldBlock(long result) { return result == -EAGAIN || result == -EWOULDBLOCK; }

}  // namespace isthmus::io
