// The other end of station 2 or 3: last words, and a close that lets them arrive. Unread bytes in our receive buffer would
// turn it into a reset, which destroys what the client has not read yet. So: FIN, then read and discard until it closes too.
#include "engine/io.h"
#include "engine/tuning.h"
#include "engine/worker.h"

namespace isthmus {

void Worker::PartWith(Connection& connection, const std::string& last_words, Outcome outcome) {
  connection.parting = outcome;
  connection.state = State::kParting;
  if (!last_words.empty()) Spill(connection.down, last_words.data(), static_cast<std::uint32_t>(last_words.size()));
  StopDialling(connection);
  LeaveShare(connection);
  connection.hello.Release();
  BeginUnserved(connection);
  linger_timers_.Set(connection.timer, now_ns_);
  DiscardUntilClosed(connection);
}

// A few bytes into an empty send buffer: they fit, but for want of memory, and then the rest goes when there is some.
void Worker::SayLastWords(Connection& connection) {
  Flow& words = connection.down;
  while (words.Pending()) {
    const long sent = io::Send(connection.client.fd, words.spill + words.spill_begin, words.spill_end - words.spill_begin);
    if (io::WouldBlock(sent)) return Arm(connection.client, connection.client.armed | EPOLLOUT);
    words.spill_begin = sent < 0 ? words.spill_end : words.spill_begin + static_cast<std::uint32_t>(sent);
  }
  ReleaseFlow(words);
  words.closed = true;
  static_cast<void>(::shutdown(connection.client.fd, SHUT_WR));
}

void Worker::DiscardUntilClosed(Connection& connection) {
  if (!connection.down.closed) SayLastWords(connection);
  for (int i = 0; i < kMovesPerTurn; i += 1) {
    const long got = io::Receive(connection.client.fd, scratch_.get(), kScratchBytes);
    if (io::WouldBlock(got)) return;
    if (got <= 0) return End(connection, connection.parting, false);
    connection.up.bytes += static_cast<std::uint64_t>(got);
  }
  GoOnLater(connection);
}

}  // namespace isthmus
