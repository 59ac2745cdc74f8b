// Station 2: the first bytes are collected, and JavaScript is asked what to do with them.
#include <algorithm>
#include <utility>

#include "engine/io.h"
#include "engine/witness.h"
#include "engine/worker.h"

namespace isthmus {

void Worker::ReadHello(Connection& connection) {
  HelloBuffer& hello = connection.hello;
  for (;;) {
    // It was asked about with all that it may send, and that was not enough.
    if (hello.Length() == shared_.limits.max_hello_bytes) return End(connection, Outcome::kHelloTooLarge, false);
    if (!hello.Grow(shared_.hellos)) return End(connection, Outcome::kRefusedHelloMemory, false);
    const std::uint32_t room = std::min(hello.SpaceBytes(), shared_.limits.max_hello_bytes - hello.Length());
    const long got = io::Receive(connection.client.fd, hello.Space(), room);
    if (io::WouldBlock(got)) {
      connection.client.readable = false;
      return;
    }
    if (got <= 0) return End(connection, Outcome::kClientLeft, false);
    hello.Add(static_cast<std::uint32_t>(got));
    connection.up.bytes += static_cast<std::uint64_t>(got);
    // A short read means drained: the next bytes are told by epoll; after a hang-up there is an end to be read.
    if (static_cast<std::uint32_t>(got) < room && !connection.client.hang_up) connection.client.readable = false;
    if (hello.Length() >= connection.min_bytes) return Ask(connection);
    if (!connection.client.readable) return;
  }
}

void Worker::Ask(Connection& connection) {
  connection.state = State::kAsking;
  Event event{Event::Kind::kQuestion};
  event.listener = connection.listener;
  event.connection = connection.id.Packed();
  event.client = connection.peer;
  event.bytes = connection.hello.Data();
  event.length = connection.hello.Length();
  event.slab_offset = connection.hello.SlabOffset();
  Tell(std::move(event));
}

void Worker::HandleAnswer(Connection& connection, Answer answer) {
  Witness(connection.state, Happening::kAnswer);
  if (connection.state != State::kAsking) return;
  if (connection.aborted) return End(connection, connection.abort_outcome, true);
  switch (answer.kind) {
    case Answer::Kind::kMore:
      connection.state = State::kHello;
      connection.min_bytes = std::max(answer.min_bytes, connection.hello.Length() + 1);
      // Its time ran out while it was being decided.
      if (!connection.timer.Set()) return End(connection, Outcome::kHelloTimeout, false);
      if (connection.client.readable) ReadHello(connection);
      return;
    case Answer::Kind::kCandidates:
      connection.timer.Clear();
      if (answer.share) {
        if (!Enter(answer.share->connections, answer.share_limit)) {
          return PartWith(connection, answer.last_words, Outcome::kRefusedShare);
        }
        connection.share = std::move(answer.share);
      }
      connection.dial = std::make_unique<Dial>();
      connection.dial->answer = std::move(answer);
      return DialNext(connection);
    case Answer::Kind::kPart:
      connection.timer.Clear();
      return PartWith(connection, answer.last_words,
                      answer.last_words.empty() ? Outcome::kClosed : Outcome::kAlertSent);
    case Answer::Kind::kPolicyError:
      return End(connection, Outcome::kPolicyError, false);
  }
}

}  // namespace isthmus
