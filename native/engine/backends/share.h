// Connection counts per share, for all workers together. The policy assigns connections to shares. The engine only compares the keys of
// shares and groups.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace isthmus {

// Shares that belong together. Each group has reserved slots, which no other group can use.
struct SlotGroup {
  std::atomic<int> reserved{0};  // connections in the reserved slots of this group
};

struct Share {
  explicit Share(std::shared_ptr<SlotGroup> slot_group) : group(std::move(slot_group)) {}

  const std::shared_ptr<SlotGroup> group;
  std::atomic<int> connections{0};
};

}  // namespace isthmus
