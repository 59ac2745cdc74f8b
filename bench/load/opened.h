// Opens connections through the proxy and waits for the backend's answer on each. At most 128 at a time, for at most 20 s.
#pragma once
#include <vector>

#include "clock.h"
#include "hellos.h"
#include "socket.h"

inline std::vector<int> open_connections(const sockaddr_in& target, Hellos& hellos, size_t count, size_t reply) {
  int64_t deadline = now_ns() + 20'000'000'000;
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  std::vector<int> fds(count, -1);
  std::vector<const std::string*> unsent(count, nullptr);
  std::vector<size_t> received(count, 0);
  size_t started = 0, ready = 0;
  epoll_event events[128];
  while (ready < count) {
    if (now_ns() > deadline) fail("only " + std::to_string(ready) + " of " + std::to_string(count) + " connections opened in 20 s");
    while (started < count && started - ready < 128) {
      int fd = start_connect(target);
      if (fd < 0) fail(std::string("connect: ") + strerror(errno));
      fds[started] = fd;
      unsent[started] = &hellos.next();
      watch(epoll, EPOLL_CTL_ADD, fd, EPOLLOUT, started);
      ++started;
    }
    int n = epoll_wait(epoll, events, 128, 100);
    for (int e = 0; e < n; ++e) {
      size_t i = size_t(events[e].data.u64);
      if (unsent[i] != nullptr) {
        if (send(fds[i], unsent[i]->data(), unsent[i]->size(), MSG_NOSIGNAL) != ssize_t(unsent[i]->size()))
          fail(std::string("the hello was not taken: ") + strerror(errno));
        unsent[i] = nullptr;
        watch(epoll, EPOLL_CTL_MOD, fds[i], EPOLLIN, i);
        continue;
      }
      char buffer[4096];
      size_t room = reply - received[i] < sizeof buffer ? reply - received[i] : sizeof buffer;
      ssize_t got = recv(fds[i], buffer, room, 0);
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) fail("a connection ended before the backend answered");
      received[i] += size_t(got);
      if (received[i] < reply) continue;
      epoll_ctl(epoll, EPOLL_CTL_DEL, fds[i], nullptr);
      ++ready;
    }
  }
  close(epoll);
  return fds;
}
