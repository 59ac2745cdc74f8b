// Ends a connection before the relay stage: sends the alert, if any, and closes so that the alert arrives. Unread bytes in the receive
// buffer would turn the close into a reset, which destroys bytes that the client has not read yet. So the worker sends FIN, then reads and
// discards until the client closes too.
#include "engine/socket/io.h"
#include "engine/tuning.h"
#include "engine/worker.h"

namespace isthmus {

void Worker::CloseWithFarewell(Connection& connection, const std::string& farewell, Outcome outcome) {
  connection.final_outcome = outcome;
  connection.state = State::kClosing;
  if (!farewell.empty()) Spill(connection.down, farewell.data(), static_cast<std::uint32_t>(farewell.size()));
  StopDialling(connection);
  LeaveShare(connection);
  connection.hello.Release();
  BeginUnserved(connection);
  linger_timers_.Set(connection.timer, now_ns_);
  DiscardUntilClosed(connection);
}

// The alert fits into the empty send buffer unless the kernel is short of memory. EPOLLOUT then reports when the rest can be sent.
void Worker::SendFarewell(Connection& connection) {
  Flow& alert = connection.down;
  while (alert.Pending()) {
    const long sent = io::Send(connection.client.fd, alert.spill + alert.spill_begin, alert.spill_end - alert.spill_begin);
    if (io::WouldBlock(sent)) return Arm(connection.client, connection.client.armed | EPOLLOUT);
    alert.spill_begin = sent < 0 ? alert.spill_end : alert.spill_begin + static_cast<std::uint32_t>(sent);
  }
  ReleaseFlow(alert);
  alert.closed = true;
  static_cast<void>(::shutdown(connection.client.fd, SHUT_WR));
}

void Worker::DiscardUntilClosed(Connection& connection) {
  if (!connection.down.closed) SendFarewell(connection);
  for (int i = 0; i < kMovesPerTurn; i += 1) {
    const long got = io::Receive(connection.client.fd, scratch_.get(), kScratchBytes);
    if (io::WouldBlock(got)) return;
    if (got <= 0) return End(connection, connection.final_outcome, false);
    connection.up.bytes += static_cast<std::uint64_t>(got);
  }
  ContinueNextTurn(connection);
}

}  // namespace isthmus
