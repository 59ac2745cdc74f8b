// Who may still name a listener to JavaScript: each worker that may accept from it, and each connection of it whose end was not told
// yet. When nobody is left, nothing will ever be told of it again, and both sides may forget it. The engine owns it.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus {

struct ListenerUse {
  ListenerUse(std::uint32_t listener, int workers) : id(listener), users(workers) {}

  // By who is a user already, so that it cannot have come to an end.
  void Enter() { users.fetch_add(1, std::memory_order_relaxed); }
  // True for the last one.
  [[nodiscard]] bool Leave() { return users.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  const std::uint32_t id;
  std::atomic<int> users;
};

}  // namespace isthmus
