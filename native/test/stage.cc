#include "test/stage.h"

#include <dirent.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

#include <cerrno>
#include <utility>

#include "test/fault.h"
#include "test/sockets.h"

namespace isthmus {
namespace {

// A strict step that times out is a test failure, so its timeout is longer than any machine needs. With a fault, a step may be
// impossible, so its timeout is short.
constexpr std::int64_t kStrictPatienceMs = 10'000;
constexpr std::int64_t kFaultPatienceMs = 30;
constexpr std::int64_t kClearPatienceMs = 3'000;

std::size_t CountDescriptors() {
  std::size_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) count += 1;
  ::closedir(directory);
  return count;
}

void Ring(void* bell) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(static_cast<UniqueFd*>(bell)->Get(), &one, sizeof one);
}

EngineLimits LimitsOf(const StageOptions& options) {
  return {.max_connections = 16,
          .max_pending_dials = 16,
          .max_pending_dials_per_backend = 16,
          .reserved_dials_per_backend = 0,
          .hello_timeout_ms = options.hello_timeout_ms,
          .max_hello_bytes = 16 * 1024,
          .max_hello_memory_bytes = 64 * 1024,
          .connect_timeout_ms = options.connect_timeout_ms,
          .dead_peer_timeout_ms = 0,
          .linger_ms = options.linger_ms,
          .max_netns_handles = 4,
          .max_pipes = options.max_pipes,
          .max_waiting_events = options.max_waiting_events};
}

}  // namespace

Stage::Stage(const StageOptions& options, bool strict)
    : strict_(strict),
      descriptors_before_(CountDescriptors()),
      bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      shared_(std::make_shared<Shared>(LimitsOf(options), Ring, &bell_)),
      backend_(ListenOnLoopback(16)),
      deaf_listener_(ListenOnLoopback(0)) {
  // Fill the accept queue: the kernel then drops every SYN.
  for (int i = 0; i < 2; i += 1) Keep(ConnectToLoopback(PortOf(deaf_listener_.Get()), 0));
  {
    const fault::Engaged engaged;
    engine_ = std::make_unique<Engine>(shared_, 1);
    if (const auto error = engine_->Start()) {
      if (fault::Happened() == 0) problem_ = "the engine does not start: " + CodeOf(*error);
      over_ = true;
      return;
    }
  }
  auto bound = engine_->Listen(kListener, "127.0.0.1", 0, options.mode, 16);
  if (!bound.Ok()) problem_ = "cannot listen: " + CodeOf(bound.Error());
  else port_ = bound.Value().port;
  live_ = AddTarget(PortOf(backend_.Get()));
  deaf_ = AddTarget(PortOf(deaf_listener_.Get()));
  const UniqueFd unused = ListenOnLoopback(1);
  closed_ = AddTarget(PortOf(unused.Get()));
  Passed(Settle(), "the listener is watched");
}

Stage::~Stage() = default;

std::int64_t Stage::NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::uint32_t Stage::AddTarget(int port) {
  const std::uint32_t id = *engine_->AddTarget("", "", "127.0.0.1", port);
  targets_.push_back(engine_->FindTarget(id));
  return id;
}

int Stage::Keep(int fd) {
  if (fd >= 0) kept_.insert(fd);
  return fd;
}

void Stage::Forget(int fd) {
  if (kept_.erase(fd) > 0) ::close(fd);
}

void Stage::Collect() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(bell_.Get(), &count, sizeof count);
  std::vector<Event> events;
  while (shared_->events.Take(events)) {
    for (Event& event : events) {
      static_cast<void>(engine_->Delivered(event));
      switch (event.kind) {
        case Event::Kind::kQuestion:
          questions_.push_back(std::move(event));
          break;
        case Event::Kind::kDialFailed:
          dials_failed_ += 1;
          break;
        case Event::Kind::kEnded:
          ended_.push_back(std::move(event));
          break;
        case Event::Kind::kListenerGone:
          break;
      }
    }
  }
}

// The engine has accepted every client, and every connection has ended: no further event can occur.
bool Stage::AllOver() const {
  return clients_ > 0 && static_cast<int>(ended_.size()) >= clients_ && static_cast<int>(ended_.size()) == fault::Accepted();
}

bool Stage::Await(int fd, short events, const std::function<bool()>& done) {
  const std::int64_t deadline = NowMs() + (strict_ ? kStrictPatienceMs : kFaultPatienceMs);
  for (;;) {
    Collect();
    const bool all_over = AllOver();
    if (done()) return true;
    if (NowMs() >= deadline || (all_over && !strict_)) return false;
    pollfd fds[] = {{bell_.Get(), POLLIN, 0}, {fd, events, 0}};
    ::poll(fds, fd < 0 ? 1 : 2, 5);
  }
}

bool Stage::Ended(Outcome outcome) {
  return Await(-1, 0, [&] { return !ended_.empty(); }) && ended_.back().outcome == outcome;
}

bool Stage::DialsFailed(int count) {
  return Await(-1, 0, [&] { return dials_failed_ >= count; });
}

void Stage::CloseListener(bool leave_open) {
  const fault::Engaged engaged;
  engine_->CloseListener(kListener, leave_open);
}

int Stage::HandOverListener() { return Keep(::fcntl(engine_->ListenerFd(kListener), F_DUPFD_CLOEXEC, 0)); }

int Stage::OpenAnother() {
  const fault::Engaged engaged;
  const auto bound = engine_->Listen(kListener + 1, "127.0.0.1", 0, ListenerMode::kHello, 16);
  engine_->CloseListener(kListener + 1);
  return bound.Ok() ? 0 : bound.Error().error;
}

void Stage::AbortAll() { engine_->AbortAll(Outcome::kDrainExpired); }

void Stage::Stop() {
  fault::Release();
  engine_->Stop();
  stopped_ = true;
}

bool Stage::HoldStill() {
  fault::Hold();
  // No connection has this id: the answer only wakes the worker.
  AnswerUnasked(ConnectionId{0, 0, 0}.Packed(), Answer{Answer::Kind::kMore});
  return fault::AwaitHeld();
}

bool Stage::Settle() {
  const bool held = HoldStill();
  fault::Release();
  return held;
}

void Stage::Sleep(int milliseconds) { ::poll(nullptr, 0, milliseconds); }

bool Stage::Passed(bool passed, const char* what) {
  if (over_) return false;
  if (passed) return true;
  over_ = true;
  if (strict_ && problem_.empty()) problem_ = std::string("a step failed: ") + what;
  return false;
}

std::string Stage::Clear() {
  const auto wrong = [&](const std::string& what) {
    if (problem_.empty()) problem_ = what;
  };
  fault::Release();
  for (const int fd : std::exchange(kept_, {})) ::close(fd);
  backend_.Reset();
  deaf_listener_.Reset();
  const std::int64_t deadline = NowMs() + kClearPatienceMs;
  const auto answer_all = [&] {
    Collect();
    for (Event& event : std::exchange(questions_, {})) {
      question_ = std::move(event);
      AnswerError();
    }
  };
  while (!stopped_ && engine_->Running()) {
    answer_all();
    if (question_.connection != 0) AnswerError();  // the scenario may have answered already: the engine ignores a second answer
    if (static_cast<int>(ended_.size()) == fault::Accepted() && shared_->connections == 0) break;
    if (NowMs() >= deadline) {
      wrong(std::to_string(fault::Accepted()) + " connections were accepted, and " + std::to_string(ended_.size()) + " have ended");
      break;
    }
    pollfd bell{bell_.Get(), POLLIN, 0};
    ::poll(&bell, 1, 5);
  }
  if (!stopped_ && engine_->Running()) {
    engine_->CloseListener(kListener);
    const std::int64_t forgotten_by = NowMs() + kClearPatienceMs;
    while (engine_->KnownListeners() > 0 && NowMs() < forgotten_by) {
      pollfd bell{bell_.Get(), POLLIN, 0};
      ::poll(&bell, 1, 5);
      answer_all();  // a client may have been accepted only now
    }
    if (engine_->KnownListeners() > 0) wrong("a listener is still known after all connections have ended");
  }
  std::set<std::uint64_t> ids;
  for (const Event& event : ended_) {
    if (event.connection != 0 && !ids.insert(event.connection).second) wrong("a connection ended twice");
  }
  const auto none_left = [&](const char* when) {
    if (shared_->connections != 0) wrong(std::string("connections are still counted ") + when);
    if (shared_->wide_flows != 0) wrong(std::string("wide flows are still counted ") + when);
    if (shared_->pending_dials != 0) wrong(std::string("dials are still counted ") + when);
    if (!engine_->Shares().empty()) wrong(std::string("a share is still counted ") + when);
    if (shared_->hellos.Used() != 0) wrong(std::string("hello memory is still counted ") + when);
    for (const auto& target : targets_) {
      if (target->pending_dials != 0) wrong(std::string("a backend's dials are still counted ") + when);
      if (target->load->connections != 0) wrong(std::string("a backend's connections are still counted ") + when);
    }
  };
  none_left("when all have ended");
  engine_->Stop();
  none_left("after the stop");
  engine_.reset();
  shared_.reset();
  bell_.Reset();
  const std::size_t descriptors = CountDescriptors();
  if (descriptors != descriptors_before_) {
    wrong(std::to_string(descriptors) + " descriptors, and there were " + std::to_string(descriptors_before_));
  }
  return problem_;
}

}  // namespace isthmus
