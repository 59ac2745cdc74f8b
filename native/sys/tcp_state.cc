#include "sys/tcp_state.h"

// The kernel's own header: the C library's tcp_info ends before the fields we need. The two cannot be included together.
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace isthmus {
namespace {

constexpr int kTcpClose = 7;  // TCP_CLOSE of net/tcp_states.h, which no header offers to programs

}  // namespace

std::optional<TcpState> StateOfTcp(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  int queued = 0;
  if (::ioctl(fd, SIOCOUTQ, &queued) != 0) queued = 0;
  return TcpState{
      info.tcpi_state == kTcpClose,
      // Unsent bytes while nothing is under way: only a closed window holds them back. The probes of a closed window are not
      // counted as under way.
      info.tcpi_notsent_bytes > 0 && info.tcpi_unacked == 0,
      static_cast<int>(info.tcpi_last_ack_recv),
      info.tcpi_probes,
      queued,
      static_cast<int>(info.tcpi_rcv_mss),
  };
}

}  // namespace isthmus
