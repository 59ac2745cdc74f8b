// The worker's loop: events, commands, timers, the outbox, and the end of a connection.
#include "engine/worker.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/socket/io.h"
#include "engine/tuning.h"
#include "engine/witness.h"
#include "sys/socket_options.h"

namespace isthmus {
namespace {

constexpr int kEventsPerBatch = 256;
constexpr std::uint32_t kAlwaysWatched = EPOLLET | EPOLLRDHUP | EPOLLPRI;
constexpr std::int64_t kNsPerMs = 1'000'000;

std::int64_t NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Trigger TriggerOf(bool is_client, std::uint32_t events) {
  if ((events & EPOLLERR) != 0) return is_client ? Trigger::kClientReset : Trigger::kBackendReset;
  if ((events & (EPOLLRDHUP | EPOLLHUP)) != 0) return is_client ? Trigger::kClientFin : Trigger::kBackendFin;
  return is_client ? Trigger::kClientReady : Trigger::kBackendReady;
}

}  // namespace

Worker::Worker(std::uint32_t index, Shared& shared)
    : index_(index),
      shared_(shared),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      spare_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      hello_timers_(shared.limits.hello_timeout_ms * kNsPerMs),
      connect_timers_(shared.limits.connect_timeout_ms * kNsPerMs),
      linger_timers_(shared.limits.linger_ms * kNsPerMs),
      flush_timers_(kFlushLookMs * kNsPerMs),
      pipes_(shared.limits.max_pipes),
      scratch_(new char[kScratchBytes]) {
  if (!epoll_.Valid() || !wake_.Valid() || !spare_.Valid()) {
    error_ = SysError{errno, "epoll_create1"};
    return;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;  // identifies the wake-up; sides and listeners are never null
  if (::epoll_ctl(epoll_.Get(), EPOLL_CTL_ADD, wake_.Get(), &event) != 0) error_ = SysError{errno, "epoll_ctl"};
}

Worker::~Worker() { Join(); }

void Worker::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Worker::Join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::Post(Command command, bool wake) {
  {
    const std::lock_guard lock(mutex_);
    if (command.kind == Command::Kind::kPrepare) tables_posted_.fetch_add(1, std::memory_order_release);
    commands_.push_back(std::move(command));
  }
  if (wake) Wake();
}

void Worker::Wake() {
  const std::uint64_t one = 1;
  // The write fails only when the counter is full, and then a wake-up is pending already.
  [[maybe_unused]] const auto written = ::write(wake_.Get(), &one, sizeof one);
}

void Worker::Run() {
  // Without a name, top -H shows this thread and the JavaScript thread as "MainThread". The prober sets its name too.
  ::pthread_setname_np(::pthread_self(), ("relay-" + std::to_string(index_)).c_str());
  // Opened on this thread, because it must be this thread's own netns. On failure each dial tries again and reports the error.
  if (auto home = HomeNetns::OfCallingThread(); home.Ok()) home_.emplace(std::move(home.Value()));
  now_ns_ = NowNs();
  epoll_event events[kEventsPerBatch];
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_.Get(), events, kEventsPerBatch, EpollTimeoutMs());
    now_ns_ = NowNs();
    for (int i = 0; i < count; i += 1) {
      // Bit 0 of the pointer is set for a listener. Both types are aligned, so the bit is otherwise 0.
      const auto tagged = reinterpret_cast<std::uintptr_t>(events[i].data.ptr);
      if (tagged == 0) HandleCommands();
      else if ((tagged & 1) != 0) ListenerReady(*reinterpret_cast<const ListenerSocket*>(tagged - 1));
      else HandleSide(*static_cast<Side*>(events[i].data.ptr), events[i].events);
    }
    AbortFallenDials();
    HandleBacklog();
    HandleTimers();
    CheckPeers();
    ResumeAccepting();
    FreeDead();
    ForgetRetired();
    SendOutbox();
  }
  // No more answers come, and JavaScript reads no hello bytes, because its thread waits in Join().
  for (Connection* connection : slots_) {
    if (connection == nullptr) continue;
    if (connection->state == State::kAsking) connection->state = State::kHello;
    End(*connection, Outcome::kStopped, true);
  }
  FreeDead();
}

void Worker::Report(Event event) {
  if (outbox_.empty()) outbox_since_ns_ = now_ns_;
  if (event.kind == Event::Kind::kQuestion || event.kind == Event::Kind::kDialFailed) outbox_urgent_ = true;
  outbox_.push_back(std::move(event));
}

// Sends once per batch: a wake-up at the first question would give the core to JavaScript for a single event. Reports of ended
// connections can wait a little and are sent together with the next question.
void Worker::SendOutbox() {
  if (outbox_.empty()) return;
  const bool due = outbox_urgent_ || outbox_.size() >= kMostHeldReports || now_ns_ - outbox_since_ns_ >= kReportDelayNs;
  if (!due) return;
  outbox_urgent_ = false;
  shared_.events.PushAll(outbox_);
}

void Worker::HandleSide(Side& side, std::uint32_t events) {
  Connection& connection = *side.connection;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLPRI)) != 0) side.hang_up = true;
  if ((events & EPOLLPRI) != 0) side.urgent = true;
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) side.readable = true;
  const bool is_client = &side == &connection.client;
  Witness(connection.state, TriggerOf(is_client, events));
  switch (connection.state) {
    case State::kHello:
      ReadHello(connection);
      break;
    case State::kAsking:
      break;  // the read or send after the answer notices it
    case State::kConnecting:
      if (!is_client) BackendReady(connection, events);
      else if ((events & (EPOLLERR | EPOLLHUP)) != 0) End(connection, Outcome::kClientLeft, true);
      break;
    case State::kRelaying: {
      // Normally a read finds the reset, after the bytes before it. Handle it here when the worker does not read this side: its stream has
      // ended, or its bytes are pending.
      const Flow& out_of = is_client ? connection.up : connection.down;
      if ((events & EPOLLERR) != 0 && (out_of.ended || out_of.Pending())) {
        Broken(connection, side, io::PendingError(side.fd));
      } else {
        Relay(connection);
      }
      break;
    }
    case State::kClosing:
      DiscardUntilClosed(connection);
      break;
    case State::kResetting:
      break;  // CheckReset() checks it by timer
    case State::kDead:
      break;
  }
}

void Worker::HandleCommands() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_.Get(), &count, sizeof count);
  std::vector<Command> commands;
  {
    const std::lock_guard lock(mutex_);
    TakeTables();
    commands.swap(commands_);
  }
  for (Command& command : commands) {
    switch (command.kind) {
      case Command::Kind::kAnswer:
        if (Connection* connection = Find(command.connection)) HandleAnswer(*connection, std::move(command.answer));
        break;
      case Command::Kind::kRemoveListener:
        Prepare(*command.listener, nullptr);
        RemoveListener(std::move(command.listener));
        break;
      case Command::Kind::kPrepare:
        break;  // TakeTables() has removed all of them
      case Command::Kind::kAdopt: {
        sockaddr_in6 peer{};
        socklen_t length = sizeof peer;
        static_cast<void>(::getpeername(command.client.Get(), reinterpret_cast<sockaddr*>(&peer), &length));
        Adopt(*command.listener, std::move(command.client), peer);
        break;
      }
      case Command::Kind::kAbortDials:
        // Deferred until after the batch: a later event may belong to the socket of an aborted dial. The worker would treat it as an
        // event of the next candidate's socket.
        fallen_.push_back(std::move(command.places));
        break;
      case Command::Kind::kEvict:
        EvictOne();
        break;
      case Command::Kind::kEvictLarge:
        asked_for_memory_.store(false, std::memory_order_relaxed);
        Evict(large_hellos_.OldestOfLargest());
        break;
      case Command::Kind::kAbortAll:
        AbortAll(command.outcome);
        break;
      case Command::Kind::kStop:
        stopping_ = true;
        break;
    }
  }
}

void Worker::HandleTimers() {
  const auto expired = [this](TimerList& list) -> Connection* {
    TimerNode* node = list.Expired(now_ns_);
    if (node == nullptr) return nullptr;
    node->Clear();
    auto* connection = static_cast<Connection*>(node->owner);
    Witness(connection->state, Trigger::kDeadline);
    return connection;
  };
  while (Connection* connection = expired(hello_timers_)) {
    // In Asking, JavaScript may be reading the bytes. If its answer is "more", HandleAnswer() ends the connection.
    if (connection->state != State::kAsking) End(*connection, Outcome::kHelloTimeout, false);
  }
  while (Connection* connection = expired(connect_timers_)) DialFailed(*connection, SysError{ETIMEDOUT, "connect"});
  while (Connection* connection = expired(linger_timers_)) End(*connection, connection->final_outcome, false);
  while (Connection* connection = expired(flush_timers_)) CheckReset(*connection);
}

void Worker::HandleBacklog() {
  // Handles only the current entries. A connection that adds itself again waits for the next turn, so that all connections get theirs.
  std::vector<Connection*> turn;
  turn.swap(backlog_);
  for (Connection* connection : turn) {
    connection->in_backlog = false;
    if (connection->state == State::kRelaying) Relay(*connection);
    else if (connection->state == State::kHello) ReadHello(*connection);  // waited for hello memory
    else if (connection->state == State::kClosing) DiscardUntilClosed(*connection);
  }
}

int Worker::EpollTimeoutMs() const {
  if (!backlog_.empty()) return 0;
  std::int64_t first = -1;
  for (const TimerList* list : {&hello_timers_, &connect_timers_, &linger_timers_, &flush_timers_}) {
    const std::int64_t deadline = list->FirstDeadlineNs();
    if (deadline >= 0 && (first < 0 || deadline < first)) first = deadline;
  }
  if (shared_.limits.dead_peer_timeout_ms > 0 && slots_.size() > free_slots_.size() && (first < 0 || next_check_ns_ < first)) {
    first = next_check_ns_;
  }
  if (!paused_listeners_.empty() && (first < 0 || accept_again_ns_ < first)) first = accept_again_ns_;
  if (!outbox_.empty() && (first < 0 || outbox_since_ns_ + kReportDelayNs < first)) first = outbox_since_ns_ + kReportDelayNs;
  if (first < 0) return -1;
  const std::int64_t wait_ms = (first - NowNs() + kNsPerMs - 1) / kNsPerMs;
  return static_cast<int>(std::clamp<std::int64_t>(wait_ms, 0, 60'000));
}

bool Worker::Watch(Side& side, std::uint32_t events) {
  epoll_event event{};
  event.events = events | kAlwaysWatched;
  event.data.ptr = &side;
  side.armed = events;
  return ::epoll_ctl(epoll_.Get(), EPOLL_CTL_ADD, side.fd, &event) == 0;
}

void Worker::Arm(Side& side, std::uint32_t events) {
  if (side.armed == events) return;
  epoll_event event{};
  event.events = events | kAlwaysWatched;
  event.data.ptr = &side;
  side.armed = events;
  static_cast<void>(::epoll_ctl(epoll_.Get(), EPOLL_CTL_MOD, side.fd, &event));
}

// EPOLL_CTL_DEL is necessary: close() does not remove a socket from epoll while a child process between fork and exec holds a copy. Epoll
// would report events of the closed socket with a pointer to a record that is freed or reused.
void Worker::Close(Side& side) {
  static_cast<void>(::epoll_ctl(epoll_.Get(), EPOLL_CTL_DEL, side.fd, nullptr));
  ::close(std::exchange(side.fd, -1));
  accept_again_ns_ = now_ns_;  // paused listeners can use the freed descriptor
}

Connection* Worker::Find(ConnectionId id) {
  if (id.slot >= slots_.size()) return nullptr;
  Connection* connection = slots_[id.slot];
  return connection != nullptr && connection->id.generation == id.generation ? connection : nullptr;
}

void Worker::End(Connection& connection, Outcome outcome, bool reset) {
  if (connection.state == State::kDead) return;
  for (Side* side : {&connection.client, &connection.backend}) {
    if (side->fd < 0) continue;
    if (reset) static_cast<void>(SetLinger(side->fd, 0));
    Close(*side);
  }
  StopDialling(connection);
  ReleaseFlow(connection.up);
  ReleaseFlow(connection.down);
  connection.timer.Clear();
  connection.hello.Release();
  LeaveShare(connection);
  Uncount(connection);
  Leave(shared_.connections);
  EndUnserved(connection);  // last, because other workers look for free slots and memory as soon as nothing is left to evict

  Event event{Event::Kind::kEnded};
  event.outcome = connection.aborted ? connection.abort_outcome : outcome;
  event.listener = connection.listener->id;
  event.use = connection.listener;
  event.connection = connection.id.Packed();
  event.client = connection.peer;
  event.tag = connection.tag;
  event.kept = std::move(connection.share);
  event.candidate = connection.connected;
  event.dial_ms = connection.dial_ms;
  event.duration_ms = static_cast<double>(NowNs() - connection.accepted_ns) / 1e6;
  event.bytes_from_client = static_cast<double>(connection.up.bytes);
  event.bytes_from_backend = static_cast<double>(connection.down.bytes);
  Report(std::move(event));
  Bury(connection);
}

// Later events of the same batch may still point at the record, so FreeDead() deletes it after the batch.
void Worker::Bury(Connection& connection) {
  connection.state = State::kDead;
  slots_[connection.id.slot] = nullptr;
  free_slots_.push_back(connection.id.slot);
  dead_.push_back(&connection);
}

void Worker::FreeDead() {
  for (Connection* connection : dead_) {
    if (connection->in_backlog) std::erase(backlog_, connection);
    delete connection;
  }
  dead_.clear();
}

void Worker::AbortAll(Outcome outcome) {
  for (std::size_t slot = 0; slot < slots_.size(); slot += 1) {
    if (slots_[slot] != nullptr) Abort(*slots_[slot], outcome);
  }
}

void Worker::Abort(Connection& connection, Outcome outcome) {
  Witness(connection.state, Trigger::kAbort);
  if (connection.state != State::kAsking) {
    End(connection, outcome, true);
    return;
  }
  if (connection.aborted) return;
  connection.aborted = true;
  connection.abort_outcome = outcome;
  static_cast<void>(SetLinger(connection.client.fd, 0));
  Close(connection.client);
}

}  // namespace isthmus
