// Equals: a connection goes to the one that has the fewest, and on a failed dial to the next. Made by the JavaScript thread, shared by
// the workers, never changed; the counts are the members' own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/load.h"
#include "engine/target.h"

namespace isthmus {

struct Pool {
  explicit Pool(std::vector<std::shared_ptr<Target>> given);

  const std::vector<std::shared_ptr<Target>> members;
  std::vector<Load*> loads;  // the members'; none where there is no target
};

// Whom one connection has tried.
class Choice {
 public:
  // The index of the member to try now, which counts the connection from here on; the number of members when none is left.
  // `choices` counts them all: among equals it is the turn of the one that has waited longest.
  std::size_t Next(const Pool& pool, std::int64_t now_ns, std::atomic<std::uint64_t>& choices);

 private:
  std::size_t Best(const Pool& pool, std::int64_t now_ns, int& connections) const;

  std::vector<bool> tried_;  // empty until the first one has failed: most do not
  std::size_t last_ = 0;
  int tries_ = 0;
};

}  // namespace isthmus
