// The table of faults: which call can fail with which error, and whether the connection may notice it.
#include <cerrno>

#include "sys/sys_error.h"
#include "test/fault.h"

namespace isthmus::fault {

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {Call::kReceive, EINTR, true},
      {Call::kReceive, EAGAIN, true},
      {Call::kReceive, kShort, true},
      {Call::kReceive, ENOMEM, false},
      {Call::kReceive, ECONNRESET, false, true},
      {Call::kReceive, ETIMEDOUT, false, true},
      {Call::kSend, EINTR, true},
      {Call::kSend, EAGAIN, true},
      {Call::kSend, kShort, true},
      {Call::kSend, ENOBUFS, false},
      {Call::kSend, ENOMEM, false, true},
      {Call::kSend, ECONNRESET, false, true},
      {Call::kSend, EPIPE, false, true},
      {Call::kSend, ETIMEDOUT, false, true},
      {Call::kSpliceIn, EINTR, true},
      {Call::kSpliceIn, EAGAIN, true},
      {Call::kSpliceIn, kShort, true},
      {Call::kSpliceIn, ENOMEM, false},
      {Call::kSpliceIn, ENOBUFS, false, true},
      {Call::kSpliceIn, ECONNRESET, false, true},
      {Call::kSpliceOut, EINTR, true},
      {Call::kSpliceOut, EAGAIN, true},
      {Call::kSpliceOut, kShort, true},
      {Call::kSpliceOut, ENOMEM, false},
      {Call::kSpliceOut, ENOBUFS, false, true},
      {Call::kSpliceOut, EPIPE, false, true},
      // Level-triggered: epoll reports the waiting client again.
      {Call::kAccept, EINTR, true},
      {Call::kAccept, EAGAIN, true},
      {Call::kAccept, ECONNABORTED, true},
      {Call::kAccept, ENOBUFS, true, true},
      {Call::kAccept, ENOMEM, true, true},
      // Without a free descriptor the engine resets the client at once.
      {Call::kAccept, EMFILE, false},
      {Call::kAccept, ENFILE, false, true},
      {Call::kConnect, EINTR, true},
      {Call::kConnect, EAGAIN, false},
      {Call::kConnect, ENOBUFS, false, true},
      {Call::kConnect, EADDRNOTAVAIL, false, true},
      {Call::kConnect, ECONNREFUSED, false, true},
      {Call::kSocket, EMFILE, false},
      {Call::kSocket, ENFILE, false, true},
      {Call::kSocket, ENOBUFS, false, true},
      {Call::kSocket, ENOMEM, false, true},
      // Without a pipe the relay copies the bytes.
      {Call::kPipe, EMFILE, true},
      {Call::kPipe, ENFILE, true, true},
      {Call::kPipeSize, EPERM, true},
      // The worker retries to open its home netns on demand. It needs the spare descriptor only in a shortage.
      {Call::kOpen, EMFILE, true},
      {Call::kEpollAdd, ENOMEM, false},
      {Call::kEpollAdd, ENOSPC, false, true},
      {Call::kEpollWait, EINTR, true},
  };
  return kinds;
}

std::string NameOf(const Fault& fault) {
  static constexpr const char* kNames[] = {"recv",   "send",  "splice in",      "splice out", "accept4",   "connect",
                                           "socket", "pipe2", "F_SETPIPE_SZ", "open",       "epoll_ctl", "epoll_wait"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Call::kCount));
  const std::string how = fault.error == kShort ? "one byte" : NameOfErrno(fault.error).code;
  return std::string(kNames[static_cast<std::size_t>(fault.call)]) + " #" + std::to_string(fault.nth) + " " + how;
}

}  // namespace isthmus::fault
