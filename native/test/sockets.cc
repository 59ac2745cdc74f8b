#include "test/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace isthmus {
namespace {

constexpr std::size_t kAtOnce = 128 * 1024;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// TCP_NODELAY: otherwise a second message waits for the ACK of the first one, which the peer delays.
int NewSocket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

// Returns kAtOnce bytes of the pattern from `position`. 251 is prime: no buffer size is a multiple of the period.
constexpr std::size_t kPeriod = 251;
const char* PatternAt(std::size_t position) {
  static const std::vector<char> pattern = [] {
    std::vector<char> bytes(kAtOnce + kPeriod);
    for (std::size_t i = 0; i < bytes.size(); i += 1) bytes[i] = static_cast<char>(i % kPeriod);
    return bytes;
  }();
  return pattern.data() + position % kPeriod;
}

}  // namespace

UniqueFd ListenOnLoopback(int backlog) {
  UniqueFd fd(NewSocket());
  const sockaddr_in address = Loopback(0);
  ::bind(fd.Get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::listen(fd.Get(), backlog);
  return fd;
}

int PortOf(int fd) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

int ConnectToLoopback(int port, int receive_buffer, int segment_bytes) {
  const int fd = NewSocket();
  if (segment_bytes > 0) ::setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, sizeof segment_bytes);
  if (receive_buffer > 0) ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const sockaddr_in address = Loopback(port);
  static_cast<void>(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  return fd;
}

void ResetOnClose(int fd) {
  const linger now{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

bool SendPattern(int fd, std::size_t& sent, std::size_t total) {
  if (sent >= total) return false;
  const auto count = ::send(fd, PatternAt(sent), std::min(kAtOnce, total - sent), MSG_NOSIGNAL);
  if (count <= 0) return false;
  sent += static_cast<std::size_t>(count);
  return true;
}

bool ReceivePattern(int fd, std::size_t& received, bool& right) {
  thread_local std::vector<char> buffer(kAtOnce);
  const auto count = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  right = right && std::memcmp(buffer.data(), PatternAt(received), static_cast<std::size_t>(count)) == 0;
  received += static_cast<std::size_t>(count);
  return true;
}

}  // namespace isthmus
