// Ends the relay stage after a reset or a timeout of one side. The bytes of that side still flow to the other side, which then gets a reset
// too. The reset waits until the other side has acknowledged these bytes, because a reset destroys bytes on their way. The file also owns
// the periodic check for dead and slow peers.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/socket/io.h"
#include "engine/socket/keepalive.h"
#include "engine/tuning.h"
#include "engine/worker.h"
#include "sys/socket_options.h"
#include "sys/tcp_state.h"

namespace isthmus {
namespace {

Outcome OutcomeOf(bool client, int error) {
  switch (error) {
    case ETIMEDOUT:
    case EHOSTUNREACH:  // the kernel's error for a silent peer after an ICMP error or a failed neighbour lookup
    case EHOSTDOWN:
    case ENETUNREACH:
      return client ? Outcome::kClientTimeout : Outcome::kBackendTimeout;
    default:
      return client ? Outcome::kClientReset : Outcome::kBackendReset;
  }
}

}  // namespace

void Worker::Broken(Connection& connection, const Side& side, int error) {
  const bool client = &side == &connection.client;
  Flow& into = client ? connection.down : connection.up;
  Flow& out_of = client ? connection.up : connection.down;
  if (!std::exchange(connection.broken, true)) {
    connection.final_outcome = OutcomeOf(client, error);
    // The other side gets a limited time to accept the rest. After that the bytes may be lost, because the stream is broken anyway.
    connection.reset_by_ns = now_ns_ + shared_.limits.linger_ms * 1'000'000;
    flush_timers_.Set(connection.timer, now_ns_);
  }
  // Nothing more can be sent to the broken side.
  DropPending(into);
  into = Flow{.bytes = into.bytes, .queues = into.queues, .ended = true, .closed = true};
  // The receive buffer may still hold bytes of the broken side: a failed send does not mean that all bytes were read. A failed receive
  // means that they were.
  const bool more_to_read = !out_of.ended && io::PendingError(side.fd) == 0 && io::Readable(side.fd);
  if (!more_to_read) out_of.ended = true;
  (client ? connection.client : connection.backend).readable = true;
  if (out_of.ended && !out_of.Pending()) return PassReset(connection);
  ContinueNextTurn(connection);
}

void Worker::PassReset(Connection& connection) {
  Side& survivor = connection.final_outcome == Outcome::kClientReset || connection.final_outcome == Outcome::kClientTimeout
                       ? connection.backend
                       : connection.client;
  const auto state = StateOfTcp(survivor.fd);
  if (!state || state->closed || state->queued_bytes == 0) return End(connection, connection.final_outcome, true);
  connection.state = State::kResetting;
}

void Worker::CheckReset(Connection& connection) {
  if (now_ns_ >= connection.reset_by_ns) return End(connection, connection.final_outcome, true);
  flush_timers_.Set(connection.timer, now_ns_);
  if (connection.state == State::kResetting) PassReset(connection);
}

// Checks a part of the connections in each call, so that each connection is checked four times within the dead-peer timeout.
// With TCP_USER_TIMEOUT the kernel ends a connection whose peer keeps its window closed, even when the peer answers every probe. So the
// option is off for such peers.
void Worker::CheckPeers() {
  const int timeout = shared_.limits.dead_peer_timeout_ms;
  if (timeout == 0 || slots_.empty() || now_ns_ < next_check_ns_) return;
  constexpr std::int64_t kParts = 16;
  next_check_ns_ = now_ns_ + std::int64_t{timeout} * 1'000'000 / (4 * kParts);
  const std::size_t share = slots_.size() / kParts + 1;
  for (std::size_t i = 0; i < share; i += 1) {
    last_checked_ = (last_checked_ + 1) % slots_.size();
    Connection* connection = slots_[last_checked_];
    if (connection == nullptr || connection->state != State::kRelaying) continue;
    CheckPeer(connection->client);
    CheckPeer(connection->backend);
    NarrowIfQuiet(connection->up, connection->client, connection->backend);
    NarrowIfQuiet(connection->down, connection->backend, connection->client);
  }
}

void Worker::CheckPeer(Side& side) {
  const int timeout = shared_.limits.dead_peer_timeout_ms;
  if (!std::exchange(side.kept_alive, true)) KeepAlive(side.fd, timeout);
  const auto state = StateOfTcp(side.fd);
  if (!state || state->closed) return;  // epoll reports it
  // The kernel probes a closed window at growing intervals, so the time alone does not prove that the peer is dead. The peer's
  // kernel limits the rate of its answers, so one or two unanswered probes do not prove it either.
  const bool silent = state->probes >= kProbesOfTheDead && state->last_ack_ms >= timeout;
  const bool slow = state->window_closed && !silent;
  if (slow == side.slow) return;
  side.slow = slow;
  static_cast<void>(SetUserTimeout(side.fd, slow ? 0 : timeout));
}

}  // namespace isthmus
