// The generator's sockets: non-blocking, IPv4, on loopback or in a netns of the harness.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "options.h"

inline sockaddr_in endpoint(const std::string& text) {
  size_t colon = text.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (colon == std::string::npos || inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1)
    fail("not an <ipv4>:<port>: " + text);
  address.sin_port = htons(uint16_t(std::stoi(text.substr(colon + 1))));
  return address;
}

inline void no_delay(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/** Returns a socket that connects to `target`, or -1. On loopback, the handshake is complete when this returns. */
inline int start_connect(const sockaddr_in& target) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  no_delay(fd);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&target), sizeof target) < 0 && errno != EINPROGRESS) {
    close(fd);
    return -1;
  }
  return fd;
}

inline int listen_on(const sockaddr_in& address) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  no_delay(fd);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) fail(std::string("bind: ") + strerror(errno));
  if (listen(fd, 4096) < 0) fail(std::string("listen: ") + strerror(errno));
  return fd;
}

inline void watch(int epoll, int operation, int fd, uint32_t events, uint64_t tag) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  if (epoll_ctl(epoll, operation, fd, &event) < 0) fail(std::string("epoll_ctl: ") + strerror(errno));
}

/** Closes with RST instead of FIN. */
inline void reset_socket(int fd) {
  linger option{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &option, sizeof option);
  close(fd);
}

/** The blob is a file in memory that sendfile() sends without copying. */
constexpr size_t kBlobBytes = 8u << 20;
inline int memory_blob() {
  int fd = memfd_create("bench-blob", MFD_CLOEXEC);
  std::string piece(1 << 20, '\0');
  for (size_t i = 0; i < piece.size(); ++i) piece[i] = char(i * 131);
  for (size_t done = 0; done < kBlobBytes; done += piece.size())
    if (write(fd, piece.data(), piece.size()) != ssize_t(piece.size())) fail("memfd");
  return fd;
}

/** Sends from the blob in pieces, as much as the socket accepts. Returns -1 when the connection has ended. */
inline int64_t send_blob(int fd, int blob, off_t& position, int pieces, size_t piece) {
  int64_t total = 0;
  for (int i = 0; i < pieces; ++i) {
    if (size_t(position) >= kBlobBytes) position = 0;
    size_t length = kBlobBytes - size_t(position) < piece ? kBlobBytes - size_t(position) : piece;
    ssize_t sent = sendfile(fd, blob, &position, length);
    if (sent < 0) return errno == EAGAIN ? total : -1;
    total += sent;
    if (size_t(sent) < length) break;
  }
  return total;
}
