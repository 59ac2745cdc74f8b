// Workers choose members of one large pool at the same time. No member may get a second connection before every member has its first.
// So a worker that other workers always overtake must not give up, and must not take a member that another worker has just taken.
#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <thread>
#include <vector>

#include "engine/backends/pool.h"

namespace isthmus {
namespace {

constexpr int kWorkers = 3;
constexpr int kMembers = 1500;
constexpr int kRounds = 4;

std::vector<std::shared_ptr<Target>> Members() {
  std::vector<std::shared_ptr<Target>> members;
  for (int i = 0; i < kMembers; i += 1) {
    members.push_back(std::make_shared<Target>());
    members.back()->load = LoadRef(new Load());
  }
  return members;
}

void ChooseTogether(const Pool& pool, std::atomic<std::uint64_t>& choices) {
  std::atomic<int> ready{0};
  std::vector<std::thread> workers;
  for (int worker = 0; worker < kWorkers; worker += 1) {
    workers.emplace_back([&] {
      ready += 1;
      while (ready < kWorkers) std::this_thread::yield();
      for (int i = 0; i < kMembers / kWorkers; i += 1) Choice().Next(pool, 0, choices);
    });
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace isthmus

int main() {
  using namespace isthmus;
  const Pool pool(Members());
  std::atomic<std::uint64_t> choices{0};
  int uneven = 0;
  for (int round = 1; round <= kRounds; round += 1) {
    ChooseTogether(pool, choices);
    int fewest = INT_MAX;
    int most = 0;
    for (const Load* load : pool.loads) {
      fewest = std::min(fewest, load->connections.load());
      most = std::max(most, load->connections.load());
    }
    if (fewest != round || most != round) uneven += 1;
    std::printf("round %d: between %d and %d connections for each member\n", round, fewest, most);
  }
  std::printf("%d uneven rounds\n", uneven);
  return uneven == 0 ? 0 : 1;
}
