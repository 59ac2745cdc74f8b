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

constexpr std::uint32_t kListener = 7;
// Longer than any machine needs, since it is a failure; and so long as a step that a fault has made impossible is waited for.
constexpr std::int64_t kStrictPatienceMs = 10'000;
constexpr std::int64_t kFaultPatienceMs = 30;
constexpr std::int64_t kClearPatienceMs = 3'000;

std::int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

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
          .hello_timeout_ms = options.hello_timeout_ms,
          .max_hello_bytes = 16 * 1024,
          .max_hello_memory_bytes = 64 * 1024,
          .connect_timeout_ms = options.connect_timeout_ms,
          .dead_peer_timeout_ms = 0,
          .linger_ms = options.linger_ms,
          .max_netns_handles = 4,
          .max_pipes = 8};
}

}  // namespace

Stage::Stage(const StageOptions& options, bool strict)
    : strict_(strict),
      descriptors_before_(CountDescriptors()),
      bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      shared_(std::make_shared<Shared>(LimitsOf(options), Ring, &bell_)),
      backend_(ListenOnLoopback(16)),
      deaf_listener_(ListenOnLoopback(0)) {
  // Its queue is full, so that the kernel drops whoever comes.
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
      static_cast<void>(engine_->Told(event));
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

// Everybody who came has been taken and has ended: nothing more can happen.
bool Stage::AllOver() const {
  return clients_ > 0 && static_cast<int>(ended_.size()) >= clients_ && static_cast<int>(ended_.size()) == fault::Accepted();
}

template <typename F>
bool Stage::Await(int fd, short events, F&& done) {
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

int Stage::Connect(int receive_buffer) {
  clients_ += 1;
  return Keep(ConnectToLoopback(port_, receive_buffer));
}

int Stage::AcceptAtBackend() {
  int fd = -1;
  Await(backend_.Get(), POLLIN, [&] {
    fd = ::accept4(backend_.Get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return fd >= 0;
  });
  return Keep(fd);
}

bool Stage::Say(int fd, std::string_view bytes) {
  return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

bool Stage::SayUrgently(int fd, char byte) { return ::send(fd, &byte, 1, MSG_OOB | MSG_NOSIGNAL) == 1; }

bool Stage::Hear(int fd, std::string_view bytes) {
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

bool Stage::HearEnd(int fd) {
  return Await(fd, POLLIN, [&] {
    char byte = 0;
    return ::recv(fd, &byte, 1, 0) == 0;
  });
}

bool Stage::HearReset(int fd) {
  return Await(fd, POLLIN, [&] {
    char byte = 0;
    return ::recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET;
  });
}

bool Stage::Fill(int from) {
  std::size_t sent = 0;
  std::int64_t quiet_since = NowMs();
  // The engine moves bytes on for a while: full is what stays full.
  while (NowMs() - quiet_since < 15) {
    if (SendPattern(from, sent, 64 << 20)) quiet_since = NowMs();
    else Sleep(2);
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
                 // In turns, and small ones: both ends are on this thread.
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

bool Stage::Asked(std::string_view bytes) {
  for (;;) {
    if (!Await(-1, 0, [&] { return !questions_.empty(); })) return false;
    question_ = std::move(questions_.front());
    questions_.erase(questions_.begin());
    // Read as JavaScript does: while the worker must not touch it.
    const std::string_view given(question_.bytes, question_.length);
    if (given.size() >= bytes.size() || !bytes.starts_with(given)) return given == bytes;
    AnswerMore(static_cast<std::uint32_t>(bytes.size()));
  }
}

void Stage::Answered(Answer answer) { AnswerUnasked(question_.connection, std::move(answer)); }

void Stage::AnswerUnasked(std::uint64_t connection, Answer answer) {
  engine_->PostAnswer(ConnectionId::Of(connection), std::move(answer));
  engine_->WakeAnswered();
}

void Stage::AnswerMore(std::uint32_t min_bytes) {
  Answer answer{Answer::Kind::kMore};
  answer.min_bytes = min_bytes;
  Answered(std::move(answer));
}

Answer Stage::CandidatesOf(const std::vector<std::uint32_t>& targets, std::string farewell) const {
  Answer answer{Answer::Kind::kCandidates};
  answer.last_words = std::move(farewell);
  for (const std::uint32_t id : targets) answer.candidates.push_back(engine_->FindTarget(id));
  return answer;
}

void Stage::AnswerCandidates(const std::vector<std::uint32_t>& targets, std::string farewell, std::uint32_t skip) {
  Answer answer = CandidatesOf(targets, std::move(farewell));
  answer.skip_bytes = skip;
  Answered(std::move(answer));
}

void Stage::AnswerShared(const std::vector<std::uint32_t>& targets, const std::string& key, int limit, std::string farewell) {
  Answer answer = CandidatesOf(targets, std::move(farewell));
  answer.share = engine_->ShareOf(key);
  answer.share_limit = limit;
  Answered(std::move(answer));
}

void Stage::Prepare(const std::string& name, const std::vector<std::uint32_t>& targets, const std::string& key, int limit,
                    std::string farewell) {
  Answer answer = CandidatesOf(targets, std::move(farewell));
  answer.share = engine_->ShareOf(key);
  answer.share_limit = limit;
  PrepareOne(name, std::move(answer));
}

void Stage::PrepareOne(const std::string& name, Answer answer) {
  const std::uint32_t tag = engine_->PrepareAnswer(std::move(answer));
  engine_->Prepare(kListener, {{name, tag}});
  for (const std::uint32_t old : tags_) engine_->DropAnswer(old);
  tags_.insert(tag);
}

// Dropped at once: whoever was given it must have all that it needs.
Answer Stage::EqualsOf(const std::vector<std::uint32_t>& targets, std::string farewell) const {
  Answer answer{Answer::Kind::kCandidates};
  answer.last_words = std::move(farewell);
  const std::uint32_t id = engine_->AddPool(targets);
  answer.pool = engine_->FindPool(id);
  engine_->DropPool(id);
  return answer;
}

void Stage::AnswerEquals(const std::vector<std::uint32_t>& targets, std::string farewell) {
  Answered(EqualsOf(targets, std::move(farewell)));
}

void Stage::PrepareEquals(const std::string& name, const std::vector<std::uint32_t>& targets, std::string farewell) {
  PrepareOne(name, EqualsOf(targets, std::move(farewell)));
}

void Stage::PrepareNothing() {
  engine_->Prepare(kListener, {});
  for (const std::uint32_t old : tags_) engine_->DropAnswer(old);
}

bool Stage::AllForgotten() {
  return Await(-1, 0, [&] {
    for (Event& event : ended_) event.kept.reset();  // as when JavaScript is done with it
    for (const std::uint32_t tag : engine_->ForgottenAnswers()) tags_.erase(tag);
    return tags_.empty();
  });
}

void Stage::AnswerPart(std::string alert) {
  Answer answer{Answer::Kind::kPart};
  answer.last_words = std::move(alert);
  Answered(std::move(answer));
}

void Stage::AnswerError() { Answered(Answer{Answer::Kind::kPolicyError}); }

bool Stage::Ended(Outcome outcome) {
  return Await(-1, 0, [&] { return !ended_.empty(); }) && ended_.back().outcome == outcome;
}

bool Stage::DialsFailed(int count) {
  return Await(-1, 0, [&] { return dials_failed_ >= count; });
}

void Stage::CloseListener() {
  const fault::Engaged engaged;
  engine_->CloseListener(kListener);
}

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
  // An answer for nobody: it only wakes.
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
    if (question_.connection != 0) AnswerError();  // whatever it did with it; an answer too many is none
    if (static_cast<int>(ended_.size()) == fault::Accepted() && shared_->connections == 0) break;
    if (NowMs() >= deadline) {
      wrong(std::to_string(fault::Accepted()) + " connections were taken and " + std::to_string(ended_.size()) + " have ended");
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
      answer_all();  // somebody may have been let in only now
    }
    if (engine_->KnownListeners() > 0) wrong("a listener is still known when all have ended");
  }
  std::set<std::uint64_t> ids;
  for (const Event& event : ended_) {
    if (event.connection != 0 && !ids.insert(event.connection).second) wrong("a connection ended twice");
  }
  const auto none_left = [&](const char* when) {
    if (shared_->connections != 0) wrong(std::string("connections are still counted ") + when);
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
