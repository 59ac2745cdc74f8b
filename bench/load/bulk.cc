// Bulk: sends as many bytes as the path accepts, in one direction. The sender uses sendfile() from memory and the receiver MSG_TRUNC.
// Neither end copies a byte, so the remaining work is the proxy's. `correctness` checks the bytes, not this mode.
#include <vector>

#include "clock.h"
#include "hellos.h"
#include "modes.h"
#include "opened.h"

int run_bulk(const Options& options) {
  bool down = options.text("direction", "down") == "down";
  size_t count = size_t(options.number("connections", 1));
  Command command;
  command.ask = down ? Ask::Download : Ask::Upload;
  Hellos hellos(options.text("hello"));
  hellos.ask(command);
  std::vector<int> fds = open_connections(endpoint(options.text("target")), hellos, count, 1);

  int epoll = epoll_create1(EPOLL_CLOEXEC);
  int blob = down ? -1 : memory_blob();
  std::vector<off_t> positions(count, 0);
  for (size_t i = 0; i < count; ++i) watch(epoll, EPOLL_CTL_ADD, fds[i], down ? EPOLLIN : EPOLLOUT, i);
  int64_t from = now_ns() + int64_t(options.number("warmup", 0.3) * 1e9);
  int64_t to = from + int64_t(options.number("seconds", 1) * 1e9);
  uint64_t bytes = 0, total = 0, errors = 0;
  epoll_event events[64];
  int64_t now = now_ns();
  while (now < to && errors < count) {
    int n = epoll_wait(epoll, events, 64, 100);
    for (int e = 0; e < n; ++e) {
      size_t i = size_t(events[e].data.u64);
      int64_t moved;
      if (down) {
        moved = recv(fds[i], nullptr, 1 << 20, MSG_TRUNC);
        if (moved < 0 && errno == EAGAIN) continue;
        if (moved == 0) moved = -1;
      } else {
        moved = send_blob(fds[i], blob, positions[i], 4, 256 << 10);
      }
      if (moved < 0) {
        ++errors;
        epoll_ctl(epoll, EPOLL_CTL_DEL, fds[i], nullptr);
        continue;
      }
      total += uint64_t(moved);
      if (now >= from) bytes += uint64_t(moved);
    }
    now = now_ns();
  }
  double elapsed = double(now - from) / 1e9;
  for (int fd : fds) reset_socket(fd);
  std::printf("{\"bytes\":%llu,\"total\":%llu,\"errors\":%llu,\"seconds\":%.6f,\"gbPerSecond\":%.5f}\n", (unsigned long long)bytes,
              (unsigned long long)total, (unsigned long long)errors, elapsed, double(bytes) / elapsed / 1e9);
  return 0;
}
