#include "prober/prober.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/socket/io.h"
#include "sys/netns_handle.h"
#include "sys/socket_options.h"

namespace isthmus {
namespace {

constexpr int kEventsPerBatch = 256;
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kWake = ~std::uint64_t{0};
constexpr std::uint32_t kTurns = 0x7fffffff;  // 31 bits: no ticket equals kWake

std::int64_t NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Prober::Prober(std::uint32_t most, std::int64_t timeout_ms, Bell bell, void* data)
    : bell_(bell),
      data_(data),
      places_(most),
      deadlines_(timeout_ms * kNsPerMs) {
  for (Place& place : places_) place.deadline.owner = &place;
}

std::optional<SysError> Prober::Start() {
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.Valid()) return SysError{errno, "epoll_create1"};
  wake_ = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_.Valid()) return SysError{errno, "eventfd"};
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWake;
  if (::epoll_ctl(epoll_.Get(), EPOLL_CTL_ADD, wake_.Get(), &event) != 0) return SysError{errno, "epoll_ctl"};
  thread_ = std::thread([this] { Run(); });
  return std::nullopt;
}

void Prober::Probe(ProbeRequest request) { Post({Command::Kind::kProbe, std::move(request)}); }

void Prober::Cancel(std::uint32_t place) {
  ProbeRequest request;
  request.place = place;
  Post({Command::Kind::kCancel, std::move(request)});
}

void Prober::Stop() {
  if (!thread_.joinable()) return;
  Post({Command::Kind::kStop, {}});
  thread_.join();
}

void Prober::Post(Command command) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = commands_.empty();
    commands_.push_back(std::move(command));
  }
  const std::uint64_t one = 1;
  // Only the first command of a batch has to wake the thread. The write fails only if the counter is full, and then a wake-up
  // is already pending.
  if (first) [[maybe_unused]] const auto written = ::write(wake_.Get(), &one, sizeof one);
}

bool Prober::Take(std::vector<ProbeResult>& results) {
  results.clear();
  const std::lock_guard lock(mutex_);
  results.swap(results_);
  if (results.empty()) rung_ = false;
  return !results.empty();
}

void Prober::Run() {
  ::pthread_setname_np(::pthread_self(), "prober");  // top -H shows the cost of the checks
  // This runs on the prober's thread, because it opens the home netns of the calling thread. On failure CreateSocket() retries
  // and reports the error.
  if (auto home = HomeNetns::OfCallingThread(); home.Ok()) home_.emplace(std::move(home.Value()));
  epoll_event events[kEventsPerBatch];
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_.Get(), events, kEventsPerBatch, EpollTimeoutMs());
    now_ns_ = NowNs();
    bool woken = false;
    for (int i = 0; i < count; i += 1) {
      if (events[i].data.u64 == kWake) woken = true;
      else HandleAnswer(events[i].data.u64);
    }
    // All answers are handled before any deadline. So an answer that arrived in time never counts as late, even if the
    // scheduler delayed this thread.
    if (count < kEventsPerBatch) {
      while (TimerNode* node = deadlines_.Expired(now_ns_)) {
        const auto* place = static_cast<const Place*>(node->owner);
        End(static_cast<std::uint32_t>(place - places_.data()), SysError{ETIMEDOUT, "connect"});
      }
    }
    if (woken) HandleCommands();
    SendOutbox();
  }
  for (Place& place : places_) {
    place.deadline.Clear();
    place.socket.Reset();
  }
}

void Prober::HandleCommands() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_.Get(), &count, sizeof count);
  taken_.clear();
  {
    const std::lock_guard lock(mutex_);
    taken_.swap(commands_);
  }
  for (const auto& [kind, request] : taken_) {
    switch (kind) {
      case Command::Kind::kProbe:
        Begin(request);
        break;
      case Command::Kind::kCancel:
        if (places_[request.place].socket.Valid()) End(request.place, SysError{ECANCELED, "connect"});
        break;
      case Command::Kind::kStop:
        stopping_ = true;
        break;
    }
  }
}

void Prober::Begin(const ProbeRequest& request) {
  Place& place = places_[request.place];
  place.started_ns = now_ns_ = NowNs();
  place.turn = (place.turn + 1) & kTurns;
  if (auto error = Connect(request)) return End(request.place, std::move(error));
  deadlines_.Set(place.deadline, now_ns_);
}

std::optional<SysError> Prober::Connect(const ProbeRequest& request) {
  if (request.length == 0) return SysError{EINVAL, "connect"};
  auto socket = CreateSocket(request);
  if (!socket.Ok()) return socket.Error();
  const int fd = socket.Value().Get();
  // kube-apiserver logs "http: TLS handshake error from …: EOF" for every connection that is opened and closed. The probe avoids
  // that line, because the server never accepts the connection. Without TCP_QUICKACK the kernel delays the last ACK of the handshake
  // by up to 200 ms, to send it with data. Before that ACK, the probe sends a reset (SO_LINGER 0). The reset removes the half-open
  // connection from the server's SYN queue:
  //
  //   SYN →   ← SYN+ACK   RST →        accept() returns nothing, nothing is logged
  //
  // If the probe is too slow and the kernel sends the ACK, or an option cannot be set, the server logs one line. The result of
  // the probe is still correct.
  static_cast<void>(SetQuickAck(fd, false));
  static_cast<void>(SetLinger(fd, 0));
  const long result = io::Connect(fd, reinterpret_cast<const sockaddr*>(&request.address), request.length);
  if (result < 0 && result != -EINPROGRESS) return SysError{static_cast<int>(-result), "connect"};
  epoll_event event{};
  event.events = EPOLLOUT | EPOLLONESHOT;
  event.data.u64 = Ticket(request.place);
  if (::epoll_ctl(epoll_.Get(), EPOLL_CTL_ADD, fd, &event) != 0) return SysError{errno, "epoll_ctl"};
  places_[request.place].socket = std::move(socket.Value());
  return std::nullopt;
}

Result<UniqueFd> Prober::CreateSocket(const ProbeRequest& request) {
  const auto family = request.address.sin6_family == AF_INET ? AddressFamily::kIpv4 : AddressFamily::kIpv6;
  if (request.netns_path.empty()) return CreateTcpSocketHere(family);
  if (!home_) {
    auto home = HomeNetns::OfCallingThread();
    if (!home.Ok()) return home.Error();
    home_.emplace(std::move(home.Value()));
  }
  return CreateTcpSocketIn(request.netns_path.c_str(), request.netns_identity, *home_, family);
}

// A closed socket stays in epoll while a child process between fork and exec holds a copy of it. Its events are stale, and
// the ticket identifies them: it contains the turn, because a later probe can use the same place.
std::uint64_t Prober::Ticket(std::uint32_t number) const {
  return (std::uint64_t{places_[number].turn} << 32) | number;
}

void Prober::HandleAnswer(std::uint64_t ticket) {
  const auto number = static_cast<std::uint32_t>(ticket);
  if (!places_[number].socket.Valid() || ticket != Ticket(number)) return;
  const int error = io::PendingError(places_[number].socket.Get());
  End(number, error == 0 ? std::nullopt : std::optional(SysError{error, "connect"}));
}

void Prober::End(std::uint32_t number, std::optional<SysError> error) {
  Place& place = places_[number];
  place.deadline.Clear();
  place.socket.Reset();
  outbox_.push_back({number, std::move(error), static_cast<double>(NowNs() - place.started_ns) / 1e6});
}

// Runs once per batch: one wake-up of JavaScript costs more than all other work here together.
void Prober::SendOutbox() {
  if (outbox_.empty()) return;
  bool ring = false;
  {
    const std::lock_guard lock(mutex_);
    ring = !std::exchange(rung_, true);
    results_.insert(results_.end(), outbox_.begin(), outbox_.end());
  }
  outbox_.clear();
  if (ring) bell_(data_);
}

int Prober::EpollTimeoutMs() const {
  const std::int64_t first = deadlines_.FirstDeadlineNs();
  if (first < 0) return -1;
  const std::int64_t wait_ms = (first - NowNs() + kNsPerMs - 1) / kNsPerMs;
  return static_cast<int>(std::clamp<std::int64_t>(wait_ms, 0, 60'000));
}

}  // namespace isthmus
