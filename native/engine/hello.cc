// Stage 2: collects the first bytes of a client and decides what to do: by a prepared answer, or by a question to JavaScript.
#include <algorithm>
#include <utility>

#include "engine/socket/io.h"
#include "engine/plain_hello.h"
#include "engine/prepared.h"
#include "engine/witness.h"
#include "engine/worker.h"

namespace isthmus {

void Worker::ReadHello(Connection& connection) {
  HelloBuffer& hello = connection.hello;
  for (;;) {
    // The hello has the maximum length, and JavaScript asked for more.
    if (hello.Length() == shared_.limits.max_hello_bytes) return End(connection, Outcome::kHelloTooLarge, false);
    if (!GrowHello(connection)) return;
    const std::uint32_t room = std::min(hello.SpaceBytes(), shared_.limits.max_hello_bytes - hello.Length());
    const long got = io::Receive(connection.client.fd, hello.Space(), room);
    if (io::WouldBlock(got)) {
      connection.client.readable = false;
      return;
    }
    if (got <= 0) return End(connection, Outcome::kClientLeft, false);
    hello.Add(static_cast<std::uint32_t>(got));
    connection.up.bytes += static_cast<std::uint64_t>(got);
    // A short read means drained: epoll reports the next bytes. After a hang-up the end of the stream is still unread.
    if (static_cast<std::uint32_t>(got) < room && !connection.client.hang_up) connection.client.readable = false;
    if (hello.Length() >= connection.min_bytes && Decide(connection)) return;
    if (!connection.client.readable) return;
  }
}

// False when the decision needs more bytes.
bool Worker::Decide(Connection& connection) {
  const PreparedTable* table = connection.asked ? nullptr : TableOf(connection.listener->id);
  if (table != nullptr) {
    const HelloBuffer& hello = connection.hello;
    const PlainHello plain = ReadPlainHello({hello.Data(), hello.Length()});
    if (plain.kind == PlainHello::Kind::kName) {
      if (auto answer = table->Find(plain.name)) {
        TakeCandidates(connection, std::move(answer));
        return true;
      }
    }
    // A long hello usually arrives in two segments, so wait once. Then ask JavaScript: its parser, unlike this reader, does not
    // start over for each segment.
    const bool first = connection.min_bytes == 1;
    if (plain.kind == PlainHello::Kind::kIncomplete && first && hello.Length() < shared_.limits.max_hello_bytes) {
      connection.min_bytes = hello.Length() + 1;
      return false;
    }
  }
  Ask(connection);
  return true;
}

// A client that connects after a table was posted must get that table. But the worker may handle the client's event before the wake-up for
// the table. So this function takes new tables from the command queue first. It leaves all other commands there.
const PreparedTable* Worker::TableOf(std::uint32_t listener) {
  if (tables_posted_.load(std::memory_order_acquire) != tables_taken_) {
    const std::lock_guard lock(mutex_);
    TakeTables();
  }
  for (const auto& [id, table] : tables_) {
    if (id == listener) return table.get();
  }
  return nullptr;
}

// The caller holds the mutex. Tables go ahead of all other commands: no other command depends on a table, and an old table must never
// replace a newer one.
void Worker::TakeTables() {
  for (Command& command : commands_) {
    if (command.kind == Command::Kind::kPrepare) Prepare(*command.listener, std::move(command.table));
  }
  std::erase_if(commands_, [](const Command& command) { return command.kind == Command::Kind::kPrepare; });
  tables_taken_ = tables_posted_.load(std::memory_order_relaxed);
}

void Worker::Prepare(const ListenerSocket& listener, std::shared_ptr<const PreparedTable> table) {
  std::erase_if(tables_, [&](const auto& entry) { return entry.first == listener.id; });
  if (table) tables_.emplace_back(listener.id, std::move(table));
}

void Worker::Ask(Connection& connection) {
  connection.state = State::kAsking;
  EndUnserved(connection);  // JavaScript reads the bytes of this connection, so it must not be evicted
  connection.asked = true;
  Event event{Event::Kind::kQuestion};
  event.listener = connection.listener->id;
  event.connection = connection.id.Packed();
  event.client = connection.peer;
  event.bytes = connection.hello.Data();
  event.length = connection.hello.Length();
  event.slab_offset = connection.hello.SlabOffset();
  Report(std::move(event));
}

void Worker::HandleAnswer(Connection& connection, Answer answer) {
  Witness(connection.state, Trigger::kAnswer);
  if (connection.state != State::kAsking) return;
  if (connection.aborted) return End(connection, connection.abort_outcome, true);
  switch (answer.kind) {
    case Answer::Kind::kMore:
      connection.state = State::kHello;
      connection.min_bytes = std::max(answer.min_bytes, connection.hello.Length() + 1);
      // The hello timeout expired while JavaScript decided.
      if (!connection.timer.Set()) return End(connection, Outcome::kHelloTimeout, false);
      if (connection.client.readable) ReadHello(connection);
      if (connection.state == State::kHello) BeginUnserved(connection);
      return;
    case Answer::Kind::kCandidates:
      return TakeCandidates(connection, std::make_shared<const Answer>(std::move(answer)));
    case Answer::Kind::kClose:
      connection.timer.Clear();
      return CloseWithFarewell(connection, answer.farewell,
                               answer.farewell.empty() ? Outcome::kClosed : Outcome::kAlertSent);
    case Answer::Kind::kPolicyError:
      return End(connection, Outcome::kPolicyError, false);
  }
}

}  // namespace isthmus
