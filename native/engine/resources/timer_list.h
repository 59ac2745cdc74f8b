// Timers with the same duration. The order of arrival is the order of expiry, so setting or clearing a timer costs a few pointer writes.
// A worker has one list for each kind of deadline.
#pragma once

#include <cstdint>

namespace isthmus {

struct TimerNode {
  TimerNode* previous = nullptr;
  TimerNode* next = nullptr;
  std::int64_t deadline_ns = 0;
  void* owner = nullptr;

  bool Set() const { return next != nullptr; }
  void Clear() {
    if (!Set()) return;
    previous->next = next;
    next->previous = previous;
    previous = next = nullptr;
  }
};

class TimerList {
 public:
  explicit TimerList(std::int64_t duration_ns) : duration_ns_(duration_ns) { head_.previous = head_.next = &head_; }
  TimerList(const TimerList&) = delete;
  TimerList& operator=(const TimerList&) = delete;

  void Set(TimerNode& node, std::int64_t now_ns) {
    node.Clear();
    node.deadline_ns = now_ns + duration_ns_;
    node.previous = head_.previous;
    node.next = &head_;
    head_.previous->next = &node;
    head_.previous = &node;
  }
  // The first node if it has expired, otherwise null.
  TimerNode* Expired(std::int64_t now_ns) {
    TimerNode* first = head_.next;
    return first != &head_ && first->deadline_ns <= now_ns ? first : nullptr;
  }
  // -1 when the list is empty.
  std::int64_t FirstDeadlineNs() const { return head_.next == &head_ ? -1 : head_.next->deadline_ns; }

 private:
  const std::int64_t duration_ns_;
  TimerNode head_;
};

}  // namespace isthmus
