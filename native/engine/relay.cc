// Stage 4: moves bytes both ways until both sides have ended. Small payloads are copied through the worker's buffer, bulk is spliced
// through a pipe. Bytes that the sink does not accept stay pending, and until they are sent the worker does not read the source.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "engine/socket/io.h"
#include "engine/socket/queue_bounds.h"
#include "engine/tuning.h"
#include "engine/worker.h"
#include "sys/tcp_state.h"

namespace isthmus {
namespace {

int ReceiveBytes(Queues queues) {
  if (queues == Queues::kWide) return kWideReceiveBytes;
  return queues == Queues::kLargeSegments ? kLargeSegmentReceiveBytes : kNarrowReceiveBytes;
}

}  // namespace

void Worker::Relay(Connection& connection) {
  Pump(connection, connection.up, connection.client, connection.backend);
  if (connection.state != State::kRelaying) return;
  Pump(connection, connection.down, connection.backend, connection.client);
  if (connection.state != State::kRelaying) return;
  if (!connection.up.closed || !connection.down.closed) return;
  if (connection.broken) PassReset(connection);
  else End(connection, Outcome::kFinished, false);
}

void Worker::Pump(Connection& connection, Flow& flow, Side& from, Side& to) {
  for (int moves = 0; moves < kMovesPerTurn; moves += flow.splicing ? kMovesOfASplice : 1) {
    if (flow.closed) return;
    if (flow.Pending() && !Flush(connection, flow, from, to)) return;
    if (flow.ended) {
      flow.closed = true;
      // A broken connection sends a reset instead of FIN. If this was the last direction, close() sends the FIN.
      const Flow& other = &flow == &connection.up ? connection.down : connection.up;
      if (!connection.broken && !other.closed) static_cast<void>(::shutdown(to.fd, SHUT_WR));
      ReleaseFlow(flow);
      return;
    }
    if (!from.readable) return;
    if (from.urgent && std::exchange(flow.splicing, false)) pipes_.Give(flow.pipe, true);
    const long moved = flow.splicing ? MoveBySplice(flow, from, to) : MoveOnce(flow, from, to);
    if (io::WouldBlock(moved)) {
      from.readable = false;
      // Idle connections return their pipe: pipes are scarce and a watch can be silent for hours.
      pipes_.Give(flow.pipe, true);
      return;
    }
    if (moved < 0) return Broken(connection, from, static_cast<int>(-moved));
    if (moved == 0) {
      flow.ended = true;
      continue;
    }
    flow.bytes += static_cast<std::uint64_t>(moved);
    // A short read means drained. Exceptions: the pipe had no more free slots, or the end of the stream or an urgent byte follows.
    const bool drained = !flow.splicing && moved < static_cast<long>(kScratchBytes) && !from.hang_up;
    if (!from.urgent) ChooseMode(flow, moved);
    flow.was_bulk = flow.was_bulk || moved >= static_cast<long>(kBigRead);
    if (flow.bytes >= kUnboundedBytes) Bound(flow, from, to);
    if (drained) from.readable = false;
    if (drained && !flow.Pending()) return;
  }
  ContinueNextTurn(connection);
}

// A narrow flow that becomes bulk gets wide queues. Growing a buffer is safe: the kernel drops no segments.
void Worker::Bound(Flow& flow, const Side& from, const Side& to) {
  if (flow.queues == Queues::kUnbounded) {
    const auto state = StateOfTcp(from.fd);
    const bool large_segments = state && state->received_segment_bytes >= kLargeSegmentBytes;
    if (large_segments) return SetQueues(flow, Queues::kLargeSegments, from, to);
    if (!Widen(flow, from, to)) SetQueues(flow, Queues::kNarrow, from, to);
  } else if (flow.queues == Queues::kNarrow) {
    static_cast<void>(Widen(flow, from, to));
  }
}

bool Worker::Widen(Flow& flow, const Side& from, const Side& to) {
  // Read before writing: all threads share the counter, and a bulk flow without a place tries in every turn.
  const bool may_be_free = shared_.wide_flows.load(std::memory_order_relaxed) < kMostWideFlows;
  if (!flow.splicing || !may_be_free || !Enter(shared_.wide_flows, kMostWideFlows)) return false;
  SetQueues(flow, Queues::kWide, from, to);
  return true;
}

// Frees the place of a wide flow that has moved nothing in bulk since the last check. After a large list, a watch can be quiet for hours.
void Worker::NarrowIfQuiet(Flow& flow, const Side& from, const Side& to) {
  const bool quiet = !std::exchange(flow.was_bulk, false) && !flow.Pending();
  if (!quiet || flow.closed || flow.queues != Queues::kWide) return;
  Leave(shared_.wide_flows);
  SetQueues(flow, Queues::kNarrow, from, to);
}

void Worker::SetQueues(Flow& flow, Queues queues, const Side& from, const Side& to) {
  flow.queues = queues;
  BoundQueues(from.fd, to.fd, ReceiveBytes(queues));
}

// Continues this connection in the next turn, after the other connections.
void Worker::ContinueNextTurn(Connection& connection) {
  if (!std::exchange(connection.in_backlog, true)) backlog_.push_back(&connection);
}

// True when all pending bytes are sent.
bool Worker::Flush(Connection& connection, Flow& flow, Side& from, Side& to) {
  while (flow.Pending()) {
    const bool spilled = flow.spill_begin < flow.spill_end;
    const long sent = to.error != 0 ? -long{to.error}
                      : spilled     ? io::Send(to.fd, flow.spill + flow.spill_begin, flow.spill_end - flow.spill_begin)
                                    : io::SpliceOut(flow.pipe[0], to.fd, flow.in_pipe);
    if (io::WouldBlock(sent)) {
      Arm(to, to.armed | EPOLLOUT);
      Arm(from, from.armed & ~static_cast<std::uint32_t>(EPOLLIN));
      return false;
    }
    if (sent < 0) {
      Broken(connection, to, static_cast<int>(-sent));
      return false;
    }
    if (spilled) flow.spill_begin += static_cast<std::uint32_t>(sent);
    else flow.in_pipe -= static_cast<std::uint32_t>(sent);
  }
  if (flow.spill != nullptr) {
    std::free(std::exchange(flow.spill, nullptr));
    flow.spill_begin = flow.spill_end = 0;
  }
  if (!flow.splicing) pipes_.Give(flow.pipe, true);
  if (!flow.ended) Arm(from, from.armed | EPOLLIN);
  return true;
}

// Returns the bytes read, 0 at the end of the stream, or -errno of the source. The next flush handles an error of the sink: the bytes that
// were not sent are pending.
long Worker::MoveOnce(Flow& flow, Side& from, Side& to) {
  const long got = io::Receive(from.fd, scratch_.get(), kScratchBytes);
  if (got <= 0) return got;
  const auto count = static_cast<std::uint32_t>(got);
  const long sent = io::Send(to.fd, scratch_.get(), count);
  // Keeps the error, because the next send returns only EPIPE, even if the peer stopped answering (ETIMEDOUT).
  if (sent < 0 && !io::WouldBlock(sent)) to.error = static_cast<std::uint8_t>(-sent);
  const auto done = static_cast<std::uint32_t>(std::max(0L, sent));
  if (done < count) Spill(flow, scratch_.get() + done, count - done);
  return got;
}

long Worker::MoveBySplice(Flow& flow, Side& from, Side& to) {
  if (flow.pipe[0] < 0 && !pipes_.Take(flow.pipe)) {
    flow.splicing = false;
    return MoveOnce(flow, from, to);
  }
  const long got = io::SpliceIn(from.fd, flow.pipe[1], PipePool::kPipeBytes);
  if (got > 0) flow.in_pipe = static_cast<std::uint32_t>(got);
  return got;
}

void Worker::Spill(Flow& flow, const char* bytes, std::uint32_t count) {
  flow.spill = static_cast<char*>(std::malloc(count));
  if (flow.spill == nullptr) std::abort();  // no memory even for 64 KB: recovery is impossible
  std::memcpy(flow.spill, bytes, count);
  flow.spill_begin = 0;
  flow.spill_end = count;
}

void Worker::ChooseMode(Flow& flow, long moved) {
  const bool big = moved >= static_cast<long>(kBigRead);
  if (big == flow.splicing) {
    flow.streak = 0;
    return;
  }
  flow.streak += 1;
  if (!flow.splicing && flow.streak >= kBigReadsToSplice) {
    flow.splicing = true;
    flow.streak = 0;
  } else if (flow.splicing && flow.streak >= kSmallReadsToCopy) {
    flow.splicing = false;  // Flush() returns the pipe once it is empty
    flow.streak = 0;
  }
}

// Drops the bytes that the sink has not accepted. The source may still hold a full receive buffer, so a wide flow stays counted.
void Worker::DropPending(Flow& flow) {
  std::free(std::exchange(flow.spill, nullptr));
  pipes_.Give(flow.pipe, flow.in_pipe == 0);
}

void Worker::ReleaseFlow(Flow& flow) {
  DropPending(flow);
  if (std::exchange(flow.queues, Queues::kUnbounded) == Queues::kWide) Leave(shared_.wide_flows);
}

}  // namespace isthmus
