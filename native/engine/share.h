// What connections count among by the policy's will: a number that all workers share. The engine knows its key and nothing of what
// the key stands for.
#pragma once

#include <atomic>

namespace isthmus {

struct Share {
  std::atomic<int> connections{0};
};

}  // namespace isthmus
