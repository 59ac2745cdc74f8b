// The stage's clients and backends: what they send and what they receive.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "test/sockets.h"
#include "test/stage.h"

namespace isthmus {

int Stage::Connect(int receive_buffer, int segment_bytes) {
  clients_ += 1;
  return Keep(ConnectToLoopback(port_, receive_buffer, segment_bytes));
}

int Stage::AcceptAtBackend() { return AcceptAt(backend_.Get()); }

int Stage::AcceptAt(int listener) {
  int fd = -1;
  Await(listener, POLLIN, [&] {
    fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return fd >= 0;
  });
  return Keep(fd);
}

bool Stage::Send(int fd, std::string_view bytes) {
  return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

bool Stage::SendUrgently(int fd, char byte) { return ::send(fd, &byte, 1, MSG_OOB | MSG_NOSIGNAL) == 1; }

bool Stage::Receive(int fd, std::string_view bytes) {
  std::string heard;
  return Await(fd, POLLIN, [&] {
           char buffer[4096];
           while (heard.size() < bytes.size()) {
             const auto got = ::recv(fd, buffer, std::min(sizeof buffer, bytes.size() - heard.size()), 0);
             if (got <= 0) break;
             heard.append(buffer, static_cast<std::size_t>(got));
           }
           return heard.size() == bytes.size();
         }) &&
         heard == bytes;
}

bool Stage::ReceiveEnd(int fd) {
  return Await(fd, POLLIN, [&] {
    char byte = 0;
    return ::recv(fd, &byte, 1, 0) == 0;
  });
}

bool Stage::ReceiveReset(int fd) {
  return Await(fd, POLLIN, [&] {
    char byte = 0;
    return ::recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET;
  });
}

bool Stage::Fill(int from) {
  std::size_t sent = 0;
  std::int64_t quiet_since = NowMs();
  // The engine still moves bytes for a while. The path is full if it stays full after the engine had its turn. On a busy machine,
  // or under a sanitizer, that turn can come after more than 15 ms.
  for (int turns = 0; turns < 4 || NowMs() - quiet_since < 15;) {
    if (SendPattern(from, sent, 64 << 20)) {
      quiet_since = NowMs();
      turns = 0;
    } else {
      Sleep(2);
      if (!Settle()) return false;
      turns += 1;
    }
  }
  return sent > 0;
}

bool Stage::Transfer(int from, int to, std::size_t bytes, bool reluctant) {
  std::size_t sent = 0;
  std::size_t received = 0;
  bool right = true;
  if (reluctant) {
    std::int64_t quiet_since = NowMs();
    while (sent < bytes && NowMs() - quiet_since < 15) {
      if (SendPattern(from, sent, bytes)) quiet_since = NowMs();
      else Sleep(1);
    }
  }
  return Await(to, POLLIN,
               [&] {
                 // Alternate in small steps: both ends are on this thread.
                 while (right && (SendPattern(from, sent, bytes) | ReceivePattern(to, received, right))) continue;
                 return !right || received >= bytes;
               }) &&
         right && received == bytes;
}

void Stage::Finish(int fd) { ::shutdown(fd, SHUT_WR); }

void Stage::Reset(int fd) {
  ResetOnClose(fd);
  Forget(fd);
}

}  // namespace isthmus
