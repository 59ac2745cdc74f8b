// State that all workers of an engine share: limits, counters, the event queue to JavaScript.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/resources/hello_pool.h"
#include "engine/message.h"

namespace isthmus {

struct EngineLimits {
  int max_connections;
  int max_pending_dials;
  int max_pending_dials_per_backend;
  int reserved_dials_per_backend;  // each backend may have this many, even when max_pending_dials is reached
  std::int64_t hello_timeout_ms;
  std::uint32_t max_hello_bytes;
  std::size_t max_hello_memory_bytes;
  std::int64_t connect_timeout_ms;
  int dead_peer_timeout_ms;
  std::int64_t linger_ms;
  int max_netns_handles;
  std::size_t max_pipes;  // for each worker
  std::size_t max_waiting_events;  // events that JavaScript has not taken: at this number workers stop accepting
};

// Events for JavaScript. The bell rings once and stays silent until Take() finds the queue empty.
class EventQueue {
 public:
  using Bell = void (*)(void*);
  EventQueue(Bell bell, void* data) : bell_(bell), data_(data) {}

  // Moves all events into the queue. Rings unless the bell has rung already.
  void PushAll(std::vector<Event>& events) {
    bool ring = false;
    {
      const std::lock_guard lock(mutex_);
      ring = !std::exchange(rung_, true);
      for (Event& event : events) events_.push_back(std::move(event));
      waiting_.store(events_.size(), std::memory_order_relaxed);
    }
    events.clear();
    if (ring) bell_(data_);
  }
  // Empties the queue into `events`. False when the queue was empty: the next event rings the bell again.
  bool Take(std::vector<Event>& events) {
    events.clear();
    const std::lock_guard lock(mutex_);
    events.swap(events_);
    waiting_.store(0, std::memory_order_relaxed);
    if (events.empty()) rung_ = false;
    return !events.empty();
  }

  std::size_t Waiting() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::vector<Event> events_;
  std::atomic<std::size_t> waiting_ = 0;
  bool rung_ = false;
  const Bell bell_;
  void* const data_;
};

class Worker;

struct Shared {
  Shared(const EngineLimits& engine_limits, EventQueue::Bell bell, void* data)
      : limits(engine_limits), hellos(engine_limits.max_hello_memory_bytes), events(bell, data),
        common_slots(engine_limits.max_connections) {}

  const EngineLimits limits;
  HelloPool hellos;
  EventQueue events;
  std::vector<Worker*> workers;  // set before the first worker starts
  std::atomic<int> connections{0};
  std::atomic<int> unreported{0};  // accepted connections whose end JavaScript has not received yet
  std::atomic<int> listeners_closing{0};  // pairs of a closed listener and a worker that may still accept from it
  std::atomic<int> pending_dials{0};
  std::atomic<int> wide_flows{0};
  // The slots of routed connections: each group has `reserved_slots` of its own, and all groups compete for the common slots.
  std::atomic<int> reserved_slots{0};
  std::atomic<int> common_slots;
  std::atomic<int> in_common_slots{0};
  std::atomic<int> netns_handles{0};
  std::atomic<std::uint64_t> choices{0};  // choices from pools since the start
};

// Adds one, unless the counter is at the limit.
inline bool Enter(std::atomic<int>& counter, int limit) {
  if (counter.fetch_add(1, std::memory_order_relaxed) < limit) return true;
  counter.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

inline void Leave(std::atomic<int>& counter) { counter.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace isthmus
