// Small requests on persistent connections: each connection sends a request, waits for its echo and repeats without a pause. `--tick`
// records the count at this interval in milliseconds, so the harness can compare parts of one run. A connection counts as broken once:
// when it ends, accepts no request, or has been silent for half a second at the end of the run.
#include <algorithm>
#include <utility>
#include <vector>

#include "clock.h"
#include "hellos.h"
#include "histogram.h"
#include "modes.h"
#include "opened.h"

namespace {
constexpr int64_t kSilentNs = 500'000'000;
}

int run_requests(const Options& options) {
  size_t count = size_t(options.number("connections", 64));
  size_t size = size_t(options.number("size", 128));
  Command command;
  command.ask = Ask::Echo;
  Hellos hellos(options.text("hello"));
  hellos.ask(command);
  std::vector<int> fds = open_connections(endpoint(options.text("target")), hellos, count, 1);

  int epoll = epoll_create1(EPOLL_CLOEXEC);
  std::string request(size, 'q');
  std::vector<size_t> received(count, 0);
  std::vector<int64_t> started(count, 0);
  std::vector<bool> broken(count, false);
  Histogram latency;
  uint64_t completed = 0, errors = 0;
  int64_t tick = int64_t(options.number("tick", 0) * 1e6);
  std::vector<std::pair<int64_t, uint64_t>> progress;
  int64_t begin = now_ns();
  int64_t from = begin + int64_t(options.number("warmup", 0.3) * 1e9);
  int64_t to = from + int64_t(options.number("seconds", 1) * 1e9);
  int64_t next_tick = tick > 0 ? from : INT64_MAX;
  for (size_t i = 0; i < count; ++i) {
    watch(epoll, EPOLL_CTL_ADD, fds[i], EPOLLIN, i);
    started[i] = now_ns();
    if (send(fds[i], request.data(), size, MSG_NOSIGNAL) != ssize_t(size)) fail("a fresh connection takes no request");
  }
  auto gives_up = [&](size_t i) {
    broken[i] = true;
    ++errors;
    epoll_ctl(epoll, EPOLL_CTL_DEL, fds[i], nullptr);
  };
  std::string buffer(65536, 0);
  epoll_event events[256];
  while (now_ns() < to && errors < count) {
    int n = epoll_wait(epoll, events, 256, 100);
    if (int64_t now = now_ns(); now >= next_tick) {
      progress.emplace_back(unix_ns(), completed);
      next_tick = now + tick;
    }
    for (int e = 0; e < n; ++e) {
      size_t i = size_t(events[e].data.u64);
      ssize_t got = recv(fds[i], buffer.data(), buffer.size(), 0);
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) {
        gives_up(i);
        continue;
      }
      received[i] += size_t(got);
      if (received[i] < size) continue;
      received[i] = 0;
      int64_t now = now_ns();
      if (started[i] >= from) {
        latency.record(now - started[i]);
        ++completed;
      }
      started[i] = now;
      if (send(fds[i], request.data(), size, MSG_NOSIGNAL) != ssize_t(size)) gives_up(i);
    }
  }
  int64_t end = now_ns();
  double elapsed = double(end - from) / 1e9;
  // A connection that hangs sends nothing at all. A run shorter than a second uses half its length as the limit.
  int64_t silent = std::min(kSilentNs, (to - begin) / 2);
  for (size_t i = 0; i < count; ++i) {
    // Unread bytes in the socket mean that the answer came in time and this generator, short of CPU time, did not read it.
    const bool hangs = !broken[i] && end - started[i] > silent && recv(fds[i], buffer.data(), 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
    if (hangs) ++errors;
  }
  for (int fd : fds) reset_socket(fd);
  std::printf("{\"completed\":%llu,\"errors\":%llu,\"seconds\":%.6f,\"perSecond\":%.2f,", (unsigned long long)completed,
              (unsigned long long)errors, elapsed, double(completed) / elapsed);
  latency.print("latency");
  std::printf(",\"progress\":[");
  for (size_t i = 0; i < progress.size(); ++i)
    std::printf("%s[%.3f,%llu]", i == 0 ? "" : ",", double(progress[i].first) / 1e6, (unsigned long long)progress[i].second);
  std::printf("]}\n");
  return 0;
}
