// Stage 3: dials the candidates, each inside its own netns. A list is tried in order, a pool by the fewest connections.
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/socket/io.h"
#include "engine/socket/keepalive.h"
#include "engine/tuning.h"
#include "engine/worker.h"

namespace isthmus {

void Worker::TakeCandidates(Connection& connection, std::shared_ptr<const Answer> answer) {
  connection.timer.Clear();
  EndUnserved(connection);
  const std::optional<Outcome> refusal = answer->share ? EnterShare(connection, *answer) : std::nullopt;
  Share* const share = refusal ? nullptr : answer->share.get();
  connection.tag = answer->tag;
  if (answer->tag != 0) connection.share = std::shared_ptr<Share>(answer, share);
  else if (share != nullptr) connection.share = answer->share;
  if (refusal) return CloseWithFarewell(connection, answer->farewell, *refusal);
  connection.dial = std::make_unique<Dial>();
  if (answer->pool) connection.dial->choice = std::make_unique<Choice>();
  connection.dial->answer = std::move(answer);
  DialNext(connection);
}

// Counts the connection in its share and takes a slot. nullopt on success.
std::optional<Outcome> Worker::EnterShare(Connection& connection, const Answer& answer) {
  Share& share = *answer.share;
  if (!Enter(share.connections, answer.share_limit)) return Outcome::kRefusedShare;
  connection.in_common_slot = !Enter(share.group->reserved, shared_.reserved_slots.load(std::memory_order_relaxed));
  if (!connection.in_common_slot) return std::nullopt;
  if (Enter(shared_.in_common_slots, shared_.common_slots.load(std::memory_order_relaxed))) return std::nullopt;
  Leave(share.connections);
  return Outcome::kRefusedSlots;
}

// Frees the slot for another connection. The pointer becomes null but still owns a prepared answer: the kEnded event carries its tag.
void Worker::LeaveShare(Connection& connection) {
  if (!connection.share) return;
  Leave(connection.share->connections);
  Leave(connection.in_common_slot ? shared_.in_common_slots : connection.share->group->reserved);
  connection.share = std::shared_ptr<Share>(connection.share, nullptr);
}

void Worker::DialNext(Connection& connection) {
  connection.state = State::kConnecting;
  Dial& dial = *connection.dial;
  if (dial.choice) Choose(connection);
  const auto& candidates = dial.answer->Candidates();
  if (dial.next == candidates.size()) {
    return CloseWithFarewell(connection, dial.answer->farewell, dial.tried ? Outcome::kDialFailed : Outcome::kRefusedDials);
  }
  dial.started_ns = now_ns_;
  // Null: the address was not numeric, or the target was dropped before the answer.
  if (!candidates[dial.next]) {
    dial.tried = true;
    return DialFailed(connection, SysError{EINVAL, "connect"});
  }
  Target& target = *candidates[dial.next];
  const int waiting = target.pending_dials.fetch_add(1, std::memory_order_relaxed);
  if (waiting >= shared_.limits.max_pending_dials_per_backend) {
    // This backend already has the maximum of pending dials. The next candidate may be healthy.
    Leave(target.pending_dials);
    dial.next += 1;
    return DialNext(connection);
  }
  const int in_total = shared_.pending_dials.fetch_add(1, std::memory_order_relaxed);
  if (in_total >= shared_.limits.max_pending_dials && waiting >= shared_.limits.reserved_dials_per_backend) {
    // The next candidate may still have reserved dials.
    Leave(target.pending_dials);
    Leave(shared_.pending_dials);
    dial.next += 1;
    return DialNext(connection);
  }
  dial.tried = true;
  dial.pending = &target;

  if (!home_) {
    auto home = HomeNetns::OfCallingThread();
    if (!home.Ok()) return DialFailed(connection, home.Error());
    home_.emplace(std::move(home.Value()));
  }
  auto socket = target.CreateSocket(*home_);
  if (!socket.Ok()) return DialFailed(connection, socket.Error());
  NoDelay(socket.Value().Get());
  const long result =
      io::Connect(socket.Value().Get(), reinterpret_cast<const sockaddr*>(&target.address), target.length);
  if (result < 0 && result != -EINPROGRESS) return DialFailed(connection, SysError{static_cast<int>(-result), "connect"});

  connection.backend.fd = socket.Value().Release();
  connection.backend.hang_up = connection.backend.urgent = false;
  connection.backend.readable = false;
  connection.backend.kept_alive = false;
  connect_timers_.Set(connection.timer, now_ns_);
  // On the same machine the handshake is complete when connect() returns, so the hello can be sent at once.
  const std::uint32_t skip = dial.answer->skip_bytes;
  std::uint32_t sent_bytes = 0;
  if (connection.hello.Length() > skip) {
    const long sent = io::Send(connection.backend.fd, connection.hello.Data() + skip, connection.hello.Length() - skip);
    if (sent < 0 && !io::WouldBlock(sent)) return DialFailed(connection, SysError{static_cast<int>(-sent), "connect"});
    sent_bytes = static_cast<std::uint32_t>(sent < 0 ? 0 : sent);
  }
  // EPOLLOUT stays armed, because edge-triggered epoll reports it only after a send that found no room.
  if (!Watch(connection.backend, EPOLLIN | EPOLLOUT)) return DialFailed(connection, SysError{errno, "epoll_ctl"});
  if (sent_bytes > 0) Connected(connection, sent_bytes);
}

// The previous choice, if any, has failed: its load no longer counts this connection.
void Worker::Choose(Connection& connection) {
  Uncount(connection);
  Dial& dial = *connection.dial;
  const Pool& pool = *dial.answer->pool;
  dial.next = dial.choice->Next(pool, now_ns_, shared_.choices);
  if (dial.next < pool.loads.size()) connection.load = LoadRef(pool.loads[dial.next]);
}

void Worker::Uncount(Connection& connection) {
  if (!connection.load) return;
  connection.load->connections.fetch_sub(1, std::memory_order_relaxed);
  connection.load = {};
}

void Worker::BackendReady(Connection& connection, std::uint32_t events) {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    if (const int error = io::PendingError(connection.backend.fd); error != 0) {
      return DialFailed(connection, SysError{error, "connect"});
    }
  }
  if ((events & EPOLLOUT) != 0) Connected(connection, 0);
}

void Worker::DialFailed(Connection& connection, const SysError& error) {
  Dial& dial = *connection.dial;
  Event event{Event::Kind::kDialFailed};
  event.listener = connection.listener->id;
  event.connection = connection.id.Packed();
  event.tag = connection.tag;
  event.candidate = static_cast<std::int32_t>(dial.next);
  event.dial_ms = static_cast<double>(now_ns_ - dial.started_ns) / 1e6;
  event.error = CodeOf(error);
  Report(std::move(event));

  connection.timer.Clear();
  if (connection.backend.fd >= 0) Close(connection.backend);
  if (dial.pending != nullptr) {
    Leave(std::exchange(dial.pending, nullptr)->pending_dials);
    Leave(shared_.pending_dials);
  }
  if (connection.load) connection.load->avoided_until_ns.store(now_ns_ + kAvoidNs, std::memory_order_relaxed);
  dial.next += 1;
  DialNext(connection);
}

void Worker::AbortFallenDials() {
  if (fallen_.empty()) return;
  std::unordered_set<const Load*> fallen;
  for (const auto& places : fallen_) {
    for (const LoadRef& place : *places) fallen.insert(place.Get());
  }
  const SysError down{ECONNABORTED, "connect", "EBACKENDDOWN", "the health checks found the backend down"};
  const auto waits = [&](const Connection* connection) {
    if (connection == nullptr || connection->state != State::kConnecting) return false;
    const Target* const target = connection->dial->pending;
    return target != nullptr && fallen.contains(target->load.Get());
  };
  for (std::size_t slot = 0; slot < slots_.size(); slot += 1) {
    // The next candidate may be down too. The loop ends, because each failure leads to an untried candidate or to none.
    while (waits(slots_[slot])) DialFailed(*slots_[slot], down);
  }
  fallen_.clear();
}

void Worker::Connected(Connection& connection, std::uint32_t sent_bytes) {
  connection.timer.Clear();
  Dial& dial = *connection.dial;
  connection.connected = static_cast<std::int32_t>(dial.next);
  connection.dial_ms = static_cast<float>(now_ns_ - dial.started_ns) / 1e6f;
  const std::uint32_t gone = dial.answer->skip_bytes + sent_bytes;
  StopDialling(connection);

  connection.state = State::kRelaying;
  HelloBuffer& hello = connection.hello;
  // The rest of the hello becomes pending like any other bytes that the sink has not accepted yet.
  if (hello.Length() > gone) Spill(connection.up, hello.Data() + gone, hello.Length() - gone);
  hello.Release();
  // During the dial the worker did not read from the client, so more bytes or FIN may be waiting.
  Relay(connection);
}

void Worker::StopDialling(Connection& connection) {
  if (!connection.dial) return;
  if (connection.dial->pending != nullptr) {
    Leave(connection.dial->pending->pending_dials);
    Leave(shared_.pending_dials);
  }
  connection.dial.reset();
}

}  // namespace isthmus
