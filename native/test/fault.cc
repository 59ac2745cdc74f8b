#include "test/fault.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <map>
#include <mutex>
#include <utility>

extern "C" {
ssize_t __real_recv(int fd, void* buffer, size_t size, int flags);
ssize_t __real_send(int fd, const void* bytes, size_t size, int flags);
ssize_t __real_splice(int in, off64_t* in_at, int out, off64_t* out_at, size_t size, unsigned flags);
int __real_accept4(int fd, sockaddr* address, socklen_t* length, int flags);
int __real_connect(int fd, const sockaddr* address, socklen_t length);
int __real_socket(int domain, int type, int protocol);
int __real_pipe2(int* fds, int flags);
int __real_fcntl(int fd, int command, ...);
int __real_open(const char* path, int flags, ...);
int __real_epoll_ctl(int epoll, int operation, int fd, epoll_event* event);
int __real_epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms);
}

namespace isthmus::fault {
namespace {

struct Watched {
  int epoll;
  epoll_event event;
};

constexpr int kNothing = 0;

std::mutex mutex;
std::condition_variable changed;
std::vector<Fault> plan;
std::array<int, static_cast<std::size_t>(Call::kCount)> counts{};
std::array<int, static_cast<std::size_t>(Call::kCount)> always{};
int happened = 0;
int accepted = 0;
enum class Gate { kOpen, kWhenIdle, kShut } gate = Gate::kOpen;
int passes = 0;  // batches that a shut gate lets through
bool held = false;
std::map<int, Watched> watched;

thread_local bool left_alone = false;

// The fault for this call: kNothing, an errno, or kShort. kShort applies only to calls of two or more `wanted` bytes.
int Next(Call call, std::size_t wanted = 0) {
  if (left_alone) return kNothing;
  const std::lock_guard lock(mutex);
  const int nth = ++counts[static_cast<std::size_t>(call)];
  const auto found = std::ranges::find_if(plan, [&](const Fault& each) { return each.call == call && each.nth == nth; });
  if (found == plan.end()) return always[static_cast<std::size_t>(call)];
  happened += 1;
  return found->error == kShort && wanted < 2 ? kNothing : found->error;
}

// Produces the edge that the kernel promises after "drained" or "full".
void OweEdge(int fd) {
  const std::lock_guard lock(mutex);
  const auto found = watched.find(fd);
  if (found == watched.end()) return;  // not watched yet: EPOLL_CTL_ADD reports pending events
  static_cast<void>(__real_epoll_ctl(found->second.epoll, EPOLL_CTL_MOD, fd, &found->second.event));
}

template <typename Result>
Result Failed(int error) {
  errno = error;
  return -1;
}

// A call that moves bytes to or from the socket `fd`.
template <typename F>
ssize_t Move(Call call, int fd, std::size_t size, F&& real) {
  const int fault = Next(call, size);
  if (fault == kNothing) return real(size);
  if (fault != kShort && fault != EAGAIN) return Failed<ssize_t>(fault);
  const ssize_t result = fault == kShort ? real(1) : -1;
  const int error = fault == kShort ? errno : EAGAIN;
  OweEdge(fd);
  errno = error;
  return result;
}

}  // namespace

void Plan(std::vector<Fault> faults) {
  const std::lock_guard lock(mutex);
  plan = std::move(faults);
  counts.fill(0);
  always.fill(kNothing);
  happened = accepted = 0;
  gate = Gate::kOpen;
  passes = 0;
  held = false;
  watched.clear();
}

void Add(Call call, int error, int nth) {
  const std::lock_guard lock(mutex);
  plan.push_back({call, counts[static_cast<std::size_t>(call)] + nth, error});
}

void Always(Call call, int error) {
  const std::lock_guard lock(mutex);
  always[static_cast<std::size_t>(call)] = error;
}

void Recover() {
  const std::lock_guard lock(mutex);
  always.fill(kNothing);
}

int CountOf(Call call) {
  const std::lock_guard lock(mutex);
  return counts[static_cast<std::size_t>(call)];
}

int Happened() {
  const std::lock_guard lock(mutex);
  return happened;
}

int Accepted() {
  const std::lock_guard lock(mutex);
  return accepted;
}

void Hold() {
  const std::lock_guard lock(mutex);
  gate = Gate::kWhenIdle;
}

bool AwaitHeld() {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, std::chrono::seconds(5), [] { return held; });
}

bool Step() {
  std::unique_lock lock(mutex);
  gate = Gate::kShut;
  passes = 1;
  changed.notify_all();
  return changed.wait_for(lock, std::chrono::seconds(5), [] { return passes == 0 && held; });
}

void Release() {
  std::unique_lock lock(mutex);
  gate = Gate::kOpen;
  changed.notify_all();
  // Otherwise AwaitHeld() after the next Hold() would see the old value of `held`.
  changed.wait(lock, [] { return !held; });
}

bool GateIs(Gate which) {
  const std::lock_guard lock(mutex);
  return gate == which;
}

void StandAtGate() {
  std::unique_lock lock(mutex);
  held = true;
  changed.notify_all();
  changed.wait(lock, [] { return gate == Gate::kOpen || passes > 0; });
  held = false;
  passes = 0;
  changed.notify_all();
}

void LeaveAlone() { left_alone = true; }
Engaged::Engaged() { left_alone = false; }
Engaged::~Engaged() { left_alone = true; }

}  // namespace isthmus::fault

using isthmus::fault::Call;
using isthmus::fault::Failed;
using isthmus::fault::Move;
using isthmus::fault::Next;

extern "C" {

ssize_t __wrap_recv(int fd, void* buffer, size_t size, int flags) {
  if ((flags & MSG_PEEK) != 0) return __real_recv(fd, buffer, size, flags);
  return Move(Call::kReceive, fd, size, [&](size_t most) { return __real_recv(fd, buffer, most, flags); });
}

ssize_t __wrap_send(int fd, const void* bytes, size_t size, int flags) {
  return Move(Call::kSend, fd, size, [&](size_t most) { return __real_send(fd, bytes, most, flags); });
}

ssize_t __wrap_splice(int in, off64_t* in_at, int out, off64_t* out_at, size_t size, unsigned flags) {
  struct stat what {};
  const bool into = ::fstat(in, &what) == 0 && S_ISSOCK(what.st_mode);
  return Move(into ? Call::kSpliceIn : Call::kSpliceOut, into ? in : out, size,
              [&](size_t most) { return __real_splice(in, in_at, out, out_at, most, flags); });
}

int __wrap_accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  if (const int fault = Next(Call::kAccept); fault != 0) return Failed<int>(fault);
  const int result = __real_accept4(fd, address, length, flags);
  if (result >= 0 && !isthmus::fault::left_alone) {
    const std::lock_guard lock(isthmus::fault::mutex);
    isthmus::fault::accepted += 1;
  }
  return result;
}

int __wrap_connect(int fd, const sockaddr* address, socklen_t length) {
  const int fault = Next(Call::kConnect);
  if (fault != 0 && fault != EINTR) return Failed<int>(fault);
  const int result = __real_connect(fd, address, length);
  return fault == EINTR ? Failed<int>(EINTR) : result;
}

int __wrap_socket(int domain, int type, int protocol) {
  if (const int fault = Next(Call::kSocket); fault != 0) return Failed<int>(fault);
  return __real_socket(domain, type, protocol);
}

int __wrap_pipe2(int* fds, int flags) {
  if (const int fault = Next(Call::kPipe); fault != 0) return Failed<int>(fault);
  return __real_pipe2(fds, flags);
}

// fcntl and open are variadic. The kernel takes one word as the last argument, so passing one on is enough.
int __wrap_fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  if (const int fault = command == F_SETPIPE_SZ ? Next(Call::kPipeSize) : 0; fault != 0) return Failed<int>(fault);
  return __real_fcntl(fd, command, argument);
}

int __wrap_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int mode = va_arg(arguments, int);
  va_end(arguments);
  if (const int fault = Next(Call::kOpen); fault != 0) return Failed<int>(fault);
  return __real_open(path, flags, mode);
}

int __wrap_epoll_ctl(int epoll, int operation, int fd, epoll_event* event) {
  // The engine's wake-up descriptor never fails: the engine cannot start without it.
  const bool side = event != nullptr && (event->events & EPOLLET) != 0;
  const bool listener = event != nullptr && (event->events & EPOLLEXCLUSIVE) != 0;
  if ((side || listener) && operation == EPOLL_CTL_ADD) {
    if (const int fault = Next(Call::kEpollAdd); fault != 0) return Failed<int>(fault);
  }
  if (side) {
    const std::lock_guard lock(isthmus::fault::mutex);
    isthmus::fault::watched[fd] = {epoll, *event};
  }
  return __real_epoll_ctl(epoll, operation, fd, event);
}

int __wrap_epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms) {
  if (const int fault = Next(Call::kEpollWait); fault != 0) return Failed<int>(fault);
  using isthmus::fault::Gate;
  if (isthmus::fault::GateIs(Gate::kWhenIdle)) {
    const int count = __real_epoll_wait(epoll, events, most, 0);
    if (count != 0 || timeout_ms == 0) return count;  // a timeout of 0 means that the worker has work already
  }
  if (!isthmus::fault::GateIs(Gate::kOpen)) isthmus::fault::StandAtGate();
  return __real_epoll_wait(epoll, events, most, timeout_ms);
}

}  // extern "C"
