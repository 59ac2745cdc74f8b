// Station 1: a client arrives.
#include <algorithm>
#include <utility>

#include "engine/io.h"
#include "engine/tuning.h"
#include "engine/worker.h"
#include "sys/socket_options.h"

namespace isthmus {
namespace {

// Whoever is next in the queue stays there, and so would be told of without end.
bool IsShortage(long result) {
  return result == -EMFILE || result == -ENFILE || result == -ENOBUFS || result == -ENOMEM;
}

}  // namespace

std::optional<SysError> Worker::WatchListener(const ListenerSocket& listener) {
  epoll_event event{};
  // All workers wait on one socket, and the kernel wakes one of them. Level-triggered: what one turn leaves is told again.
  event.events = EPOLLIN | EPOLLEXCLUSIVE;
  event.data.u64 = reinterpret_cast<std::uintptr_t>(&listener) | 1;
  if (::epoll_ctl(epoll_.Get(), EPOLL_CTL_ADD, listener.fd.Get(), &event) == 0) return std::nullopt;
  return SysError{errno, "epoll_ctl"};
}

void Worker::RemoveListener(std::shared_ptr<ListenerSocket> listener) {
  static_cast<void>(::epoll_ctl(epoll_.Get(), EPOLL_CTL_DEL, listener->fd.Get(), nullptr));
  // The kernel wakes one of all who wait on the socket, in whatever process. If that was us, just before, then nobody else knows
  // of the client, and it would wait until the next one comes.
  if (listener->shared) AcceptFrom(*listener);
  std::erase(paused_listeners_, listener.get());
  retired_listeners_.push_back(std::move(listener));  // a later event of this batch may point at it
}

// The batch is done: nothing can be accepted from them here any more.
void Worker::ForgetRetired() {
  for (const auto& listener : retired_listeners_) {
    if (listener->use->Leave()) {
      Event event{Event::Kind::kListenerGone};
      event.listener = listener->id;
      event.use = listener->use;
      Tell(std::move(event));
    }
  }
  const int count = static_cast<int>(retired_listeners_.size());
  if (count == 0) return;
  // Who hears that it is closed may want its port again: the socket goes first.
  retired_listeners_.clear();
  shared_.listeners_closing.fetch_sub(count, std::memory_order_release);
}

void Worker::ListenerReady(const ListenerSocket& listener) {
  // A command of this very batch may have closed it, and the next one ended all that there was: whoever others who hold the socket
  // can take is theirs now.
  const auto is_it = [&](const auto& retired) { return retired.get() == &listener; };
  if (std::ranges::any_of(retired_listeners_, is_it)) return;
  // JavaScript stands still, and what it is to be told would grow without end. Whoever waits in the kernel's queue costs us nothing.
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
    // A client that left before it was accepted is an error of that client, not of the listener.
    if (fd == -ECONNABORTED || fd == -EPROTO) continue;
    const bool no_descriptors = fd == -EMFILE || fd == -ENFILE;
    if (no_descriptors && EvictOne()) continue;
    if (IsShortage(no_descriptors ? RefuseForWantOfDescriptors(listener) : fd)) Pause(listener);
    return;
  }
}

long Worker::RefuseForWantOfDescriptors(const ListenerSocket& listener) {
  spare_.Reset();
  sockaddr_in6 peer{};
  socklen_t length = sizeof peer;
  // Another thread may be faster, and have the number that has just come free; then there may be none for the spare either.
  const long fd = io::Accept(listener.fd.Get(), reinterpret_cast<sockaddr*>(&peer), &length);
  if (fd >= 0) Refuse(listener, UniqueFd(static_cast<int>(fd)), peer, Outcome::kRefusedDescriptors);
  TakeSpare();
  return fd;
}

void Worker::TakeSpare() { spare_ = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

// Its clients wait in the queue; who is connected is served as before. Taken out, since what is watched exclusively cannot be modified.
void Worker::Pause(const ListenerSocket& listener) {
  if (std::ranges::find(paused_listeners_, &listener) != paused_listeners_.end()) return;
  static_cast<void>(::epoll_ctl(epoll_.Get(), EPOLL_CTL_DEL, listener.fd.Get(), nullptr));
  if (paused_listeners_.empty()) accept_again_ns_ = now_ns_ + kAcceptPauseNs;
  paused_listeners_.push_back(&listener);
}

void Worker::ResumeAccepting() {
  if (paused_listeners_.empty() || now_ns_ < accept_again_ns_) return;
  // First of all: with it a client that cannot be served is at least refused.
  if (!spare_.Valid()) TakeSpare();
  accept_again_ns_ = now_ns_ + kAcceptPauseNs;  // for those that cannot be watched even now
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
  Tell(std::move(event));
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
  // Never 0: that is what events of refused clients carry.
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
  ReadHello(*connection);  // often it is there already
  if (connection->state == State::kHello) BeginUnserved(*connection);
}

}  // namespace isthmus
