// Counts the users of a listener: each worker that may accept from it, and each of its connections whose end JavaScript has not received.
// After the last user no event names the listener again, so the engine and JavaScript may forget it. The engine owns the object.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus {

struct ListenerUse {
  ListenerUse(std::uint32_t listener, int workers) : id(listener), users(workers) {}

  // Only an existing user may call it, so the count cannot have reached zero.
  void Enter() { users.fetch_add(1, std::memory_order_relaxed); }
  // True for the last user.
  [[nodiscard]] bool Leave() { return users.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  const std::uint32_t id;
  std::atomic<int> users;
};

}  // namespace isthmus
