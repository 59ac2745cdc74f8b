// Runs the prober without Node; test/netns/addon-prober.test.ts compiles and runs it. `stress <ms> <address>` is for the sanitizers,
// mainly TSan: probes of every kind, cancelled at any time, and probers that stop with pending probes. The address must never answer.
// `faults` makes each system call of a probe fail once, through the linker's --wrap.
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "prober/prober.h"
#include "sys/netns_handle.h"
#include "test/sockets.h"

namespace {

// Only calls of the prober's thread fail. Calls of the test's own thread pass through.
thread_local bool on_test_thread = false;
std::atomic<const char*> failing_call{""};
std::atomic<int> failing_errno{0};  // 0: no call fails
std::atomic<bool> failed{false};

bool Fails(const char* call) {
  if (on_test_thread || failing_errno == 0 || std::strcmp(failing_call, call) != 0) return false;
  errno = failing_errno.exchange(0);
  failed = true;
  return true;
}

}  // namespace

extern "C" {
int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol) { return Fails("socket") ? -1 : __real_socket(domain, type, protocol); }
int __real_connect(int fd, const sockaddr* address, socklen_t length);
int __wrap_connect(int fd, const sockaddr* address, socklen_t length) {
  // An interrupted connect() continues in the kernel.
  if (failing_errno == EINTR && Fails("connect")) return __real_connect(fd, address, length), errno = EINTR, -1;
  return Fails("connect") ? -1 : __real_connect(fd, address, length);
}
int __real_setsockopt(int fd, int level, int option, const void* value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int option, const void* value, socklen_t size) {
  return Fails("setsockopt") ? -1 : __real_setsockopt(fd, level, option, value, size);
}
int __real_getsockopt(int fd, int level, int option, void* value, socklen_t* size);
int __wrap_getsockopt(int fd, int level, int option, void* value, socklen_t* size) {
  const char* const call = option == SO_ERROR ? "getsockopt error" : "getsockopt cookie";
  return Fails(call) ? -1 : __real_getsockopt(fd, level, option, value, size);
}
int __real_epoll_ctl(int epoll, int operation, int fd, epoll_event* event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, epoll_event* event) {
  return Fails("epoll_ctl") ? -1 : __real_epoll_ctl(epoll, operation, fd, event);
}
int __real_epoll_wait(int epoll, epoll_event* events, int most, int timeout);
int __wrap_epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  return Fails("epoll_wait") ? -1 : __real_epoll_wait(epoll, events, most, timeout);
}
}

namespace isthmus {
namespace {

constexpr std::uint32_t kMost = 64;

// Replaces the event loop of JavaScript: the bell ends Wait().
class Loop {
 public:
  explicit Loop(std::int64_t timeout_ms) : bell_(::eventfd(0, EFD_CLOEXEC)), prober_(kMost, timeout_ms, Ring, this) {
    if (prober_.Start()) std::abort();
  }
  Prober* operator->() { return &prober_; }

  // The results that arrive within `milliseconds`.
  std::vector<ProbeResult> Wait(int milliseconds) {
    pollfd each{bell_.Get(), POLLIN, 0};
    if (::poll(&each, 1, milliseconds) == 1) {
      std::uint64_t count = 0;
      if (::read(bell_.Get(), &count, sizeof count) < 0) std::abort();
    }
    std::vector<ProbeResult> all;
    for (std::vector<ProbeResult> some; prober_.Take(some);) all.insert(all.end(), some.begin(), some.end());
    return all;
  }

 private:
  static void Ring(void* self) {
    const std::uint64_t one = 1;
    if (::write(static_cast<Loop*>(self)->bell_.Get(), &one, sizeof one) < 0) std::abort();
  }

  UniqueFd bell_;
  Prober prober_;
};

const char* const kOwnNetns = "/proc/thread-self/ns/net";

std::string OwnNetnsIdentity() {
  auto home = HomeNetns::OfCallingThread();
  return OwnIdentity(home.Value()).Value();
}

ProbeRequest RequestTo(const char* address, int port, std::uint32_t place, const std::string& identity) {
  ProbeRequest request;
  request.place = place;
  request.netns_path = identity.empty() ? "" : kOwnNetns;
  request.netns_identity = identity;
  auto& v4 = reinterpret_cast<sockaddr_in&>(request.address);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  request.length = ::inet_pton(AF_INET, address, &v4.sin_addr) == 1 ? sizeof v4 : 0;
  return request;
}

int Stress(int milliseconds, const char* silent) {
  const std::string own = OwnNetnsIdentity();
  const UniqueFd listener(ListenOnLoopback(64));
  const int port = PortOf(listener.Get());
  std::minstd_rand random(1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  int probers = 0;
  int ended = 0;
  int wrong = 0;
  while (std::chrono::steady_clock::now() < end) {
    Loop loop(20);
    probers += 1;
    std::vector<int> taken(kMost, 0);  // 1: pending, 2: cancelled
    for (int round = 0; round < 100; round += 1) {
      for (std::uint32_t place = 0; place < kMost; place += 1) {
        const auto chance = random() % 8;
        if (taken[place] == 0 && chance < 5) {
          const bool quiet = chance == 0;
          const char* const address = chance == 4 ? "none" : quiet ? silent : "127.0.0.1";
          loop->Probe(RequestTo(address, chance == 1 ? 1 : port, place, chance % 2 == 0 ? own : chance == 3 ? "cookie:1" : ""));
          taken[place] = 1;
        } else if (taken[place] == 1 && chance == 7) {
          loop->Cancel(place);
          taken[place] = 2;
        }
      }
      for (const ProbeResult& result : loop.Wait(static_cast<int>(random() % 4))) {
        if (taken[result.place] == 0) wrong += 1;
        if (result.error && result.error->error == ECANCELED && taken[result.place] != 2) wrong += 1;
        taken[result.place] = 0;
        ended += 1;
      }
    }
    if (probers % 2 == 0) continue;  // every second prober stops with pending probes
    for (int round = 0; round < 100; round += 1) {
      for (const ProbeResult& result : loop.Wait(10)) {
        if (std::exchange(taken[result.place], 0) == 0) wrong += 1;
        ended += 1;
      }
    }
    for (const int each : taken) wrong += each != 0;
  }
  std::printf("%d probers, %d probes, %d wrong\n", probers, ended, wrong);
  return wrong == 0 && ended > 1000 ? 0 : 1;
}

int OpenDescriptors() {
  DIR* const directory = ::opendir("/proc/self/fd");
  int count = 0;
  while (::readdir(directory) != nullptr) count += 1;
  ::closedir(directory);
  return count;
}

struct FaultCase {
  const char* call;
  int error;
  const char* expected;  // "" if the probe still succeeds
};

int Faults() {
  static constexpr FaultCase kCases[] = {
      {"socket", EMFILE, "EMFILE"},
      {"setsockopt", ENOPROTOOPT, ""},
      {"connect", EINTR, ""},
      {"connect", ENETUNREACH, "ENETUNREACH"},
      {"connect", EADDRNOTAVAIL, "EADDRNOTAVAIL"},
      {"getsockopt error", ENOBUFS, "ENOBUFS"},
      {"getsockopt cookie", EIO, "EIO"},
      {"epoll_ctl", ENOSPC, "ENOSPC"},
      {"epoll_wait", EINTR, ""},
  };
  const std::string own = OwnNetnsIdentity();
  const UniqueFd listener(ListenOnLoopback(64));
  int wrong = 0;
  for (const auto& [call, error, expected] : kCases) {
    Loop loop(5000);
    const auto probed = [&]() -> std::string {
      loop->Probe(RequestTo("127.0.0.1", PortOf(listener.Get()), 3, own));
      const auto results = loop.Wait(10'000);
      if (results.size() != 1 || results[0].place != 3) return "not one result";
      return results[0].error ? CodeOf(*results[0].error) : "";
    };
    if (!probed().empty()) std::abort();
    const int before = OpenDescriptors();
    failed = false;
    failing_call = call;
    failing_errno = error;  // the thread is idle and meets the fault with the next request
    const std::string found = probed();
    const bool good = failed && found == expected && probed().empty() && OpenDescriptors() == before;
    if (!good) std::printf("%s %s: '%s'\n", call, NameOfErrno(error).code, found.c_str());
    wrong += !good;
  }
  std::printf("%zu faults, %d wrong\n", std::size(kCases), wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace isthmus

int main(int count, char** arguments) {
  on_test_thread = true;
  if (count == 4 && std::strcmp(arguments[1], "stress") == 0) return isthmus::Stress(std::atoi(arguments[2]), arguments[3]);
  if (count == 2 && std::strcmp(arguments[1], "faults") == 0) return isthmus::Faults();
  return 2;
}
