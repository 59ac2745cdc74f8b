// Codes and messages of system errors. The table is necessary, because strerrorname_np needs glibc 2.32, and uv_err_name
// belongs to libuv, not to Node-API.
#include "sys/sys_error.h"

#include <cerrno>

namespace isthmus {

// The errors that libuv names on Linux (UV_ERRNO_MAP in uv.h). A test compares the table with util.getSystemErrorMap().
#define ISTHMUS_ERRNO_TABLE(X)                                   \
  X(E2BIG, "argument list too long")                             \
  X(EACCES, "permission denied")                                 \
  X(EADDRINUSE, "address already in use")                        \
  X(EADDRNOTAVAIL, "address not available")                      \
  X(EAFNOSUPPORT, "address family not supported")                \
  X(EAGAIN, "resource temporarily unavailable")                  \
  X(EALREADY, "connection already in progress")                  \
  X(EBADF, "bad file descriptor")                                \
  X(EBUSY, "resource busy or locked")                            \
  X(ECANCELED, "operation canceled")                             \
  X(ECONNABORTED, "software caused connection abort")            \
  X(ECONNREFUSED, "connection refused")                          \
  X(ECONNRESET, "connection reset by peer")                      \
  X(EDESTADDRREQ, "destination address required")                \
  X(EEXIST, "file already exists")                               \
  X(EFAULT, "bad address in system call argument")               \
  X(EFBIG, "file too large")                                     \
  X(EHOSTDOWN, "host is down")                                   \
  X(EHOSTUNREACH, "host is unreachable")                         \
  X(EILSEQ, "illegal byte sequence")                             \
  X(EINTR, "interrupted system call")                            \
  X(EINVAL, "invalid argument")                                  \
  X(EIO, "i/o error")                                            \
  X(EISCONN, "socket is already connected")                      \
  X(EISDIR, "illegal operation on a directory")                  \
  X(ELOOP, "too many symbolic links encountered")                \
  X(EMFILE, "too many open files")                               \
  X(EMLINK, "too many links")                                    \
  X(EMSGSIZE, "message too long")                                \
  X(ENAMETOOLONG, "name too long")                               \
  X(ENETDOWN, "network is down")                                 \
  X(ENETUNREACH, "network is unreachable")                       \
  X(ENFILE, "file table overflow")                               \
  X(ENOBUFS, "no buffer space available")                        \
  X(ENODATA, "no data available")                                \
  X(ENODEV, "no such device")                                    \
  X(ENOENT, "no such file or directory")                         \
  X(ENOEXEC, "exec format error")                                \
  X(ENOMEM, "not enough memory")                                 \
  X(ENONET, "machine is not on the network")                     \
  X(ENOPROTOOPT, "protocol not available")                       \
  X(ENOSPC, "no space left on device")                           \
  X(ENOSYS, "function not implemented")                          \
  X(ENOTCONN, "socket is not connected")                         \
  X(ENOTDIR, "not a directory")                                  \
  X(ENOTEMPTY, "directory not empty")                            \
  X(ENOTSOCK, "socket operation on non-socket")                  \
  X(ENOTSUP, "operation not supported on socket")                \
  X(ENOTTY, "inappropriate ioctl for device")                    \
  X(ENXIO, "no such device or address")                          \
  X(EOVERFLOW, "value too large for defined data type")          \
  X(EPERM, "operation not permitted")                            \
  X(EPIPE, "broken pipe")                                        \
  X(EPROTO, "protocol error")                                    \
  X(EPROTONOSUPPORT, "protocol not supported")                   \
  X(EPROTOTYPE, "protocol wrong type for socket")                \
  X(ERANGE, "result too large")                                  \
  X(EREMOTEIO, "remote I/O error")                               \
  X(EROFS, "read-only file system")                              \
  X(ESHUTDOWN, "cannot send after transport endpoint shutdown")  \
  X(ESOCKTNOSUPPORT, "socket type not supported")                \
  X(ESPIPE, "invalid seek")                                      \
  X(ESRCH, "no such process")                                    \
  X(ETIMEDOUT, "connection timed out")                           \
  X(ETXTBSY, "text file is busy")                                \
  X(EUNATCH, "protocol driver not attached")                     \
  X(EXDEV, "cross-device link not permitted")

ErrorName NameOfErrno(int error) {
  switch (error) {
#define ISTHMUS_CASE(name, message) \
  case name:                        \
    return {#name, message};
    ISTHMUS_ERRNO_TABLE(ISTHMUS_CASE)
#undef ISTHMUS_CASE
    default:
      return {nullptr, nullptr};
  }
}

std::string CodeOf(const SysError& error) {
  if (error.code != nullptr) return error.code;
  const ErrorName name = NameOfErrno(error.error);
  if (name.code != nullptr) return name.code;
  return "Unknown system error -" + std::to_string(error.error);
}

std::string MessageOf(const SysError& error, const char* path) {
  std::string message = CodeOf(error);
  const ErrorName name = NameOfErrno(error.error);
  if (error.code == nullptr && name.message != nullptr) message.append(": ").append(name.message);
  if (error.code != nullptr && error.detail != nullptr) message.append(": ").append(error.detail);
  message.append(", ").append(error.syscall);
  if (path != nullptr) message.append(" '").append(path).append("'");
  if (error.code == nullptr && error.detail != nullptr) message.append(" (").append(error.detail).append(")");
  return message;
}

}  // namespace isthmus
