// Frees slots and memory for new clients. Under pressure the worker evicts a connection that is not served yet: the oldest one of the
// address that has the most. Many clients may share one address, so there is no limit per address. Served connections are never evicted.
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

// Release order: another worker that sees the smaller count also sees the slot and the memory that the connection freed before.
void Worker::EndUnserved(Connection& connection) {
  if (!connection.unserved) return;
  connection.unserved.reset();
  evictable_.store(unserved_.Size(), std::memory_order_release);
  evictable_large_.store(large_hellos_.Size(), std::memory_order_release);
}

// Takes a slot for one more connection. False when no worker has a connection to evict, or when too many evictions are pending.
bool Worker::TakeSlot() {
  const int most = shared_.limits.max_connections;
  for (int race = 0; race < kMostRaces; race += 1) {
    if (Enter(shared_.connections, most)) return true;
    if (!EvictOne()) break;
  }
  Worker* const other = FullestOther(&Worker::evictable_);
  // In the meantime another worker may have ended such a connection, and that slot is free now.
  if (other == nullptr) return Enter(shared_.connections, most);
  // The other thread evicts a little later. Until then the count is above the limit.
  if (!Enter(shared_.connections, most + kMostEvictedAhead)) return false;
  other->Post(Command{Command::Kind::kEvict}, true);
  return true;
}

bool Worker::EvictOne() { return Evict(unserved_.OldestOfLargest()); }

// Makes room for at least one more byte of the hello. When the shared hello memory is used up, it evicts other long hellos. False: the
// connection has ended for lack of memory, or it waits until another thread frees some.
bool Worker::GrowHello(Connection& connection) {
  while (!connection.hello.Grow(shared_.hellos)) {
    Connection* const other = large_hellos_.OldestOfLargest();
    if (other != &connection && Evict(other)) continue;
    Worker* const holder = FullestOther(&Worker::evictable_large_);
    if (holder == nullptr) {
      // In the meantime another worker may have ended its last long hello, and that memory is free now.
      if (connection.hello.Grow(shared_.hellos)) break;
      End(connection, Outcome::kRefusedHelloMemory, false);
      return false;
    }
    // Only one request at a time: this connection retries in every turn.
    if (!holder->asked_for_memory_.exchange(true, std::memory_order_relaxed)) {
      holder->Post(Command{Command::Kind::kEvictLarge}, true);
    }
    ContinueNextTurn(connection);
    return false;
  }
  NoteLargeHello(connection);
  return true;
}

// The other worker with the most connections to evict. Null when no other worker has any.
Worker* Worker::FullestOther(std::atomic<std::size_t> Worker::* count) const {
  Worker* fullest = nullptr;
  std::size_t most = 0;
  for (Worker* worker : shared_.workers) {
    const std::size_t has = worker == this ? 0 : (worker->*count).load(std::memory_order_acquire);
    if (has <= most) continue;
    most = has;
    fullest = worker;
  }
  return fullest;
}

// False when `connection` is null.
bool Worker::Evict(Connection* connection) {
  if (connection == nullptr) return false;
  const bool in_hello = connection->state == State::kHello;
  End(*connection, in_hello ? Outcome::kEvictedHello : connection->final_outcome, true);
  return true;
}

}  // namespace isthmus
