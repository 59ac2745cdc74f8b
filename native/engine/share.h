// What connections count among by the policy's will: numbers that all workers share. The engine knows the keys and nothing of what
// they stand for.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace isthmus {

// Shares that belong together. Some slots are kept for each group: they are free for it however busy all the others are.
struct SlotGroup {
  std::atomic<int> reserved{0};  // connections in slots that are kept for this group
};

struct Share {
  explicit Share(std::shared_ptr<SlotGroup> slot_group) : group(std::move(slot_group)) {}

  const std::shared_ptr<SlotGroup> group;
  std::atomic<int> connections{0};
};

}  // namespace isthmus
