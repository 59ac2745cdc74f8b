// One connection for the correctness cases, used step by step. It blocks for at most 5 s per wait.
#pragma once
#include <poll.h>
#include <sys/time.h>

#include <algorithm>
#include <string>

#include "clock.h"
#include "command.h"
#include "socket.h"

inline uint64_t pattern_digest(uint64_t id, uint64_t bytes) {
  uint64_t digest = kDigestStart;
  unsigned char buffer[65536];
  for (uint64_t at = 0; at < bytes; at += sizeof buffer) {
    size_t length = size_t(std::min<uint64_t>(sizeof buffer, bytes - at));
    fill_pattern(buffer, length, id, at);
    digest = digest_step(digest, buffer, length);
  }
  return digest;
}

class Talk {
 public:
  explicit Talk(const sockaddr_in& target) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    timeval limit{5, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    no_delay(fd_);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&target), sizeof target) < 0) reset();
  }
  ~Talk() {
    if (fd_ >= 0) close(fd_);
  }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  int fd() const { return fd_; }
  void reset() {
    reset_socket(fd_);
    fd_ = -1;
  }

  bool send_all(const std::string& bytes) {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == ssize_t(bytes.size());
  }
  bool send_pattern(uint64_t id, uint64_t bytes) {
    unsigned char buffer[65536];
    for (uint64_t at = 0; at < bytes;) {
      size_t length = size_t(std::min<uint64_t>(sizeof buffer, bytes - at));
      fill_pattern(buffer, length, id, at);
      ssize_t n = send(fd_, buffer, length, MSG_NOSIGNAL);
      if (n <= 0) return false;
      at += uint64_t(n);
    }
    return true;
  }
  bool receive_all(void* into, size_t length) { return recv(fd_, into, length, MSG_WAITALL) == ssize_t(length); }

  /** Reads the pattern, `step` bytes at a time with a pause in between. */
  std::string expect_pattern(uint64_t id, uint64_t bytes, size_t step, useconds_t pause) {
    for (uint64_t at = 0; at < bytes;) {
      unsigned char buffer[65536];
      ssize_t n = recv(fd_, buffer, size_t(std::min<uint64_t>(std::min(step, sizeof buffer), bytes - at)), 0);
      if (n <= 0) return ended_early(at, bytes, n);
      if (!matches(buffer, size_t(n), id, at)) return "other bytes than were sent";
      at += uint64_t(n);
      if (pause > 0) usleep(pause);
    }
    return "";
  }
  std::string expect_end() {
    char byte;
    ssize_t n = recv(fd_, &byte, 1, 0);
    if (n == 0) return "";
    return n > 0 ? "more bytes than were sent" : std::string("no orderly end: ") + strerror(errno);
  }

  /** Sends and receives the pattern at the same time, then sends FIN and waits for the peer's FIN. */
  std::string exchange_pattern(uint64_t id, uint64_t bytes) {
    int64_t deadline = now_ns() + 20'000'000'000;
    uint64_t sent = 0, received = 0;
    unsigned char buffer[65536];
    while (sent < bytes || received < bytes) {
      pollfd wait{fd_, short((sent < bytes ? POLLOUT : 0) | (received < bytes ? POLLIN : 0)), 0};
      if (poll(&wait, 1, 5000) <= 0 || now_ns() > deadline) return "stuck after " + std::to_string(received) + " bytes";
      if (wait.revents & (POLLIN | POLLERR | POLLHUP)) {
        ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) return ended_early(received, bytes, n);
        if (n > 0 && !matches(buffer, size_t(n), id, received)) return "other bytes than were sent";
        if (n > 0) received += uint64_t(n);
      }
      if ((wait.revents & POLLOUT) && sent < bytes) {
        size_t length = size_t(std::min<uint64_t>(sizeof buffer, bytes - sent));
        fill_pattern(buffer, length, id, sent);
        ssize_t n = send(fd_, buffer, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) return std::string("cannot send: ") + strerror(errno);
        if (n > 0) sent += uint64_t(n);
      }
    }
    shutdown(fd_, SHUT_WR);
    return expect_end();
  }

 private:
  static bool matches(const unsigned char* bytes, size_t length, uint64_t id, uint64_t offset) {
    for (size_t i = 0; i < length; ++i)
      if (bytes[i] != pattern(id, offset + i)) return false;
    return true;
  }
  static std::string ended_early(uint64_t at, uint64_t bytes, ssize_t n) {
    return (n == 0 ? std::string("orderly end") : std::string(strerror(errno))) + " after " + std::to_string(at) + " of " +
           std::to_string(bytes) + " bytes";
  }

  int fd_;
};
