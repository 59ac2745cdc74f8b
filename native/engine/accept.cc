// Stage 1: accepts clients, or rejects them when a limit is reached. Also watches, pauses and removes listeners.
#include <algorithm>
#include <utility>

#include "engine/socket/io.h"
#include "engine/tuning.h"
#include "engine/worker.h"
#include "sys/socket_options.h"

namespace isthmus {
namespace {

// After these errors the client stays in the queue, so level-triggered epoll would report the listener again and again.
bool IsShortage(long result) {
  return result == -EMFILE || result == -ENFILE || result == -ENOBUFS || result == -ENOMEM;
}

}  // namespace

std::optional<SysError> Worker::WatchListener(const ListenerSocket& listener) {
  epoll_event event{};
  // All workers wait on one socket, and the kernel wakes one of them. The watch is level-triggered, so epoll reports the listener again
  // while clients are left in its queue.
  event.events = EPOLLIN | EPOLLEXCLUSIVE;
  event.data.u64 = reinterpret_cast<std::uintptr_t>(&listener) | 1;
  if (::epoll_ctl(epoll_.Get(), EPOLL_CTL_ADD, listener.fd.Get(), &event) == 0) return std::nullopt;
  return SysError{errno, "epoll_ctl"};
}

void Worker::RemoveListener(std::shared_ptr<ListenerSocket> listener) {
  static_cast<void>(::epoll_ctl(epoll_.Get(), EPOLL_CTL_DEL, listener->fd.Get(), nullptr));
  // The kernel wakes only one of the threads that wait on the socket, in any process. If it has just woken this worker, no other thread
  // gets an event for that client. The client would then wait until the next one arrives.
  if (listener->shared) AcceptFrom(*listener);
  std::erase(paused_listeners_, listener.get());
  retired_listeners_.push_back(std::move(listener));  // a later event of this batch may point at it
}

// Runs after the batch: from now on this worker cannot accept from the retired listeners.
void Worker::ForgetRetired() {
  for (const auto& listener : retired_listeners_) {
    if (listener->use->Leave()) {
      Event event{Event::Kind::kListenerGone};
      event.listener = listener->id;
      event.use = listener->use;
      Report(std::move(event));
    }
  }
  const int count = static_cast<int>(retired_listeners_.size());
  if (count == 0) return;
  // Close the socket before listeners_closing reaches zero: a caller that waits for zero may then bind the same port.
  retired_listeners_.clear();
  shared_.listeners_closing.fetch_sub(count, std::memory_order_release);
}

void Worker::ListenerReady(const ListenerSocket& listener) {
  // An earlier command of this batch may have removed the listener, and a later one may have ended all connections. A client accepted now
  // would outlive both. Other processes that hold the socket accept it.
  const auto is_it = [&](const auto& retired) { return retired.get() == &listener; };
  if (std::ranges::any_of(retired_listeners_, is_it)) return;
  // JavaScript is behind with events. Without this check the event queue would grow without bound. Clients in the kernel's queue cost
  // this process nothing.
  if (shared_.events.Waiting() + outbox_.size() >= shared_.limits.max_waiting_events) return Pause(listener);
  AcceptFrom(listener);
}

void Worker::AcceptFrom(const ListenerSocket& listener) {
  for (int i = 0; i < kAcceptsPerTurn; i += 1) {
    sockaddr_in6 peer{};
    socklen_t length = sizeof peer;
    const long fd = io::Accept(listener.fd.Get(), reinterpret_cast<sockaddr*>(&peer), &length);
    if (fd >= 0) {
      Adopt(listener, UniqueFd(static_cast<int>(fd)), peer);
      continue;
    }
    // The client disconnected before the accept. The listener still works.
    if (fd == -ECONNABORTED || fd == -EPROTO) continue;
    const bool no_descriptors = fd == -EMFILE || fd == -ENFILE;
    if (no_descriptors && EvictOne()) continue;
    if (IsShortage(no_descriptors ? RefuseWithoutDescriptor(listener) : fd)) Pause(listener);
    return;
  }
}

long Worker::RefuseWithoutDescriptor(const ListenerSocket& listener) {
  spare_.Reset();
  sockaddr_in6 peer{};
  socklen_t length = sizeof peer;
  // Another thread may take the freed descriptor first. Then this accept fails, and TakeSpare() may fail too.
  const long fd = io::Accept(listener.fd.Get(), reinterpret_cast<sockaddr*>(&peer), &length);
  if (fd >= 0) Refuse(listener, UniqueFd(static_cast<int>(fd)), peer, Outcome::kRefusedDescriptors);
  TakeSpare();
  return fd;
}

void Worker::TakeSpare() { spare_ = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

// New clients wait in the kernel's queue; connected clients are not affected. The listener leaves epoll because EPOLL_CTL_MOD is not
// allowed with EPOLLEXCLUSIVE.
void Worker::Pause(const ListenerSocket& listener) {
  if (std::ranges::find(paused_listeners_, &listener) != paused_listeners_.end()) return;
  static_cast<void>(::epoll_ctl(epoll_.Get(), EPOLL_CTL_DEL, listener.fd.Get(), nullptr));
  if (paused_listeners_.empty()) accept_again_ns_ = now_ns_ + kAcceptPauseNs;
  paused_listeners_.push_back(&listener);
}

void Worker::ResumeAccepting() {
  if (paused_listeners_.empty() || now_ns_ < accept_again_ns_) return;
  // The spare descriptor comes first: with it the worker can at least reject clients.
  if (!spare_.Valid()) TakeSpare();
  accept_again_ns_ = now_ns_ + kAcceptPauseNs;  // the next attempt for listeners that epoll still rejects
  std::erase_if(paused_listeners_, [this](const ListenerSocket* listener) { return !WatchListener(*listener); });
}

void Worker::Refuse(const ListenerSocket& listener, UniqueFd client, const sockaddr_in6& peer, Outcome outcome) {
  shared_.unreported.fetch_add(1, std::memory_order_relaxed);
  listener.use->Enter();
  static_cast<void>(SetLinger(client.Get(), 0));
  client.Reset();
  Event event{Event::Kind::kEnded};
  event.outcome = outcome;
  event.listener = listener.id;
  event.use = listener.use;
  event.client = peer;
  Report(std::move(event));
}

void Worker::Adopt(const ListenerSocket& listener, UniqueFd client, const sockaddr_in6& peer) {
  if (!TakeSlot()) {
    return Refuse(listener, std::move(client), peer, Outcome::kRefusedConnections);
  }
  shared_.unreported.fetch_add(1, std::memory_order_relaxed);
  listener.use->Enter();
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(nullptr);
    generations_.push_back(0);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  auto* connection = new Connection;
  slots_[slot] = connection;
  // Never 0: events of rejected clients carry the connection id 0.
  generations_[slot] = generations_[slot] % ((1u << ConnectionId::kGenerationBits) - 1) + 1;
  connection->id = {index_, slot, generations_[slot]};
  connection->listener = listener.use;
  connection->accepted_ns = now_ns_;
  connection->peer = peer;
  connection->timer.owner = connection;
  connection->client.connection = connection->backend.connection = connection;
  connection->client.fd = client.Release();
  if (!Watch(connection->client, EPOLLIN)) return End(*connection, Outcome::kRefusedDescriptors, true);
  if (listener.mode == ListenerMode::kImmediate) {
    Ask(*connection);
    return;
  }
  hello_timers_.Set(connection->timer, now_ns_);
  ReadHello(*connection);  // the hello has often arrived already
  if (connection->state == State::kHello) BeginUnserved(*connection);
}

}  // namespace isthmus
