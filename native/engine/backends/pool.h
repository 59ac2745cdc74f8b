// Equivalent backends. A connection goes to the member with the fewest connections, and after a failed dial to the next member. The
// JavaScript thread creates a pool, the workers share it, and it never changes. The counts belong to the members.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "engine/backends/load.h"
#include "engine/backends/target.h"

namespace isthmus {

struct Pool {
  explicit Pool(std::vector<std::shared_ptr<Target>> given);

  const std::vector<std::shared_ptr<Target>> members;
  std::vector<Load*> loads;  // of the members; null where the target is missing
};

// The members that one connection has tried.
class Choice {
 public:
  // Whether the member is avoided, its connections, and when it was last chosen. Smaller is better.
  using Rank = std::tuple<bool, int, std::uint64_t>;

  // The index of the next member to try, or the number of members when none is left. The member's load counts the connection from now on.
  // `choices` numbers all choices: of members with equally few connections, the one chosen longest ago is next.
  std::size_t Next(const Pool& pool, std::int64_t now_ns, std::atomic<std::uint64_t>& choices);

 private:
  std::size_t Best(const Pool& pool, std::int64_t now_ns, Rank& best_rank) const;
  bool TakeEqual(const Pool& pool, std::int64_t now_ns, const Rank& rank);

  std::vector<bool> tried_;  // empty until the first dial fails, which is rare
  std::size_t last_ = 0;
  int tries_ = 0;
};

}  // namespace isthmus
