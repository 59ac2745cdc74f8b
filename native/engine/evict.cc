// Room for newcomers. Under pressure a connection that is not served yet makes way: the oldest of the address that holds most of them.
// Many clients may share one address, so there is no limit per address, and a connection that is being served is never evicted.
#include "engine/tuning.h"
#include "engine/worker.h"

namespace isthmus {

void Worker::BeginUnserved(Connection& connection) {
  if (!connection.unserved) connection.unserved = std::make_unique<Unserved>(connection);
  unserved_.Add(connection.unserved->any, connection.peer);
  evictable_.store(unserved_.Size(), std::memory_order_relaxed);
  NoteLargeHello(connection);
}

void Worker::NoteLargeHello(Connection& connection) {
  if (!connection.unserved || !connection.hello.IsLarge()) return;
  large_hellos_.Add(connection.unserved->large, connection.peer);
  evictable_large_.store(large_hellos_.Size(), std::memory_order_relaxed);
}

void Worker::EndUnserved(Connection& connection) {
  if (!connection.unserved) return;
  connection.unserved.reset();
  evictable_.store(unserved_.Size(), std::memory_order_relaxed);
  evictable_large_.store(large_hellos_.Size(), std::memory_order_relaxed);
}

// A slot for one more connection; false when all are taken by connections that are being served.
bool Worker::TakeSlot() {
  const int most = shared_.limits.max_connections;
  for (int race = 0; race < kMostRaces; race += 1) {
    if (Enter(shared_.connections, most)) return true;
    if (!EvictOne()) break;
  }
  Worker* const other = FullestOther(&Worker::evictable_);
  // The other thread makes way a moment later, so for that moment there is one too many.
  if (other == nullptr || !Enter(shared_.connections, most + kMostEvictedAhead)) return false;
  other->Post(Command{Command::Kind::kEvict}, true);
  return true;
}

bool Worker::EvictOne() { return Evict(unserved_.OldestOfLargest()); }

// Makes room for at least one more byte of its hello. When the memory that all share is used up, other long hellos make way. False: it
// has ended for want of memory, or waits for another thread to give some back.
bool Worker::GrowHello(Connection& connection) {
  while (!connection.hello.Grow(shared_.hellos)) {
    Connection* const other = large_hellos_.OldestOfLargest();
    if (other != &connection && Evict(other)) continue;
    Worker* const holder = FullestOther(&Worker::evictable_large_);
    if (holder == nullptr) {
      End(connection, Outcome::kRefusedHelloMemory, false);
      return false;
    }
    // One request at a time, however often this connection looks for memory until then.
    if (!holder->asked_for_memory_.exchange(true, std::memory_order_relaxed)) {
      holder->Post(Command{Command::Kind::kEvictLarge}, true);
    }
    GoOnLater(connection);
    return false;
  }
  NoteLargeHello(connection);
  return true;
}

// The other thread that has most to evict; none when no other has any.
Worker* Worker::FullestOther(std::atomic<std::size_t> Worker::* count) const {
  Worker* fullest = nullptr;
  std::size_t most = 0;
  for (Worker* worker : shared_.workers) {
    const std::size_t has = worker == this ? 0 : (worker->*count).load(std::memory_order_relaxed);
    if (has <= most) continue;
    most = has;
    fullest = worker;
  }
  return fullest;
}

// False when there is none.
bool Worker::Evict(Connection* connection) {
  if (connection == nullptr) return false;
  const bool in_hello = connection->state == State::kHello;
  End(*connection, in_hello ? Outcome::kEvictedHello : connection->parting, true);
  return true;
}

}  // namespace isthmus
