#include "sys/tcp_state.h"

// Uses the kernel's header, because tcp_info of the C library lacks some fields. A file cannot include both.
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace isthmus {
namespace {

constexpr int kTcpClose = 7;  // TCP_CLOSE of net/tcp_states.h, a header that is not available to programs

}  // namespace

std::optional<TcpState> StateOfTcp(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  int queued = 0;
  if (::ioctl(fd, SIOCOUTQ, &queued) != 0) queued = 0;
  return TcpState{
      info.tcpi_state == kTcpClose,
      // If bytes are unsent and none is in flight, the window is closed. The kernel does not count window probes as in flight.
      info.tcpi_notsent_bytes > 0 && info.tcpi_unacked == 0,
      static_cast<int>(info.tcpi_last_ack_recv),
      info.tcpi_probes,
      queued,
      static_cast<int>(info.tcpi_rcv_mss),
  };
}

}  // namespace isthmus
