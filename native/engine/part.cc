// The other end of station 2 or 3: last words, and a close that lets them arrive. Unread bytes in our receive buffer would
// turn it into a reset, which destroys what the client has not read yet. So: FIN, then read and discard until it closes too.
#include "engine/io.h"
#include "engine/tuning.h"
#include "engine/worker.h"

namespace isthmus {

void Worker::PartWith(Connection& connection, const std::string& last_words, Outcome outcome) {
  connection.parting = outcome;
  connection.state = State::kParting;
  if (!last_words.empty()) {
    // A few bytes into an empty send buffer: they fit, or the client is gone.
    static_cast<void>(io::Send(connection.client.fd, last_words.data(), last_words.size()));
  }
  StopDialling(connection);
  connection.hello.Release();
  static_cast<void>(::shutdown(connection.client.fd, SHUT_WR));
  linger_timers_.Set(connection.timer, now_ns_);
  DiscardUntilClosed(connection);
}

void Worker::DiscardUntilClosed(Connection& connection) {
  for (int i = 0; i < kMovesPerTurn; i += 1) {
    const long got = io::Receive(connection.client.fd, scratch_.get(), kScratchBytes);
    if (io::WouldBlock(got)) return;
    if (got <= 0) return End(connection, connection.parting, false);
    connection.up.bytes += static_cast<std::uint64_t>(got);
  }
  GoOnLater(connection);
}

}  // namespace isthmus
