#include "engine/backends/pool.h"

#include <limits>
#include <tuple>
#include <utility>

#include "engine/tuning.h"

namespace isthmus {
namespace {

// Smaller is better.
using Rank = std::tuple<bool, int, std::uint64_t>;

Rank RankOf(const Load* load, std::int64_t now_ns) {
  if (load == nullptr) return {true, std::numeric_limits<int>::max(), 0};  // no target: the dial always fails
  // A backend that has just failed ranks behind the others. It has the fewest connections, so otherwise it would get every new
  // client until the health checks remove it.
  return {load->avoided_until_ns.load(std::memory_order_relaxed) > now_ns, load->connections.load(std::memory_order_relaxed),
          load->chosen.load(std::memory_order_relaxed)};
}

std::vector<Load*> LoadsOf(const std::vector<std::shared_ptr<Target>>& members) {
  std::vector<Load*> loads;
  loads.reserve(members.size());
  for (const auto& member : members) loads.push_back(member ? member->load.Get() : nullptr);
  return loads;
}

}  // namespace

Pool::Pool(std::vector<std::shared_ptr<Target>> given) : members(std::move(given)), loads(LoadsOf(members)) {}

std::size_t Choice::Next(const Pool& pool, std::int64_t now_ns, std::atomic<std::uint64_t>& choices) {
  const std::size_t none = pool.members.size();
  if (tries_ == kMostTries) return none;
  if (tries_ > 0) {
    tried_.resize(none);
    tried_[last_] = true;
  }
  tries_ += 1;
  for (int race = 0;; race += 1) {
    int connections = 0;
    last_ = Best(pool, now_ns, connections);
    Load* const load = last_ == none ? nullptr : pool.loads[last_];
    if (load == nullptr) return last_;
    // If another worker has changed the count in the meantime, this member may no longer be the best, so all members are compared again.
    if (race == kMostRaces) load->connections.fetch_add(1, std::memory_order_relaxed);
    else if (!load->connections.compare_exchange_strong(connections, connections + 1, std::memory_order_relaxed)) continue;
    load->chosen.store(1 + choices.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    return last_;
  }
}

std::size_t Choice::Best(const Pool& pool, std::int64_t now_ns, int& connections) const {
  std::size_t best = pool.loads.size();
  Rank best_rank;
  for (std::size_t i = 0; i < pool.loads.size(); i += 1) {
    if (!tried_.empty() && tried_[i]) continue;
    const Rank rank = RankOf(pool.loads[i], now_ns);
    if (best < pool.loads.size() && !(rank < best_rank)) continue;
    best = i;
    best_rank = rank;
  }
  connections = std::get<1>(best_rank);
  return best;
}

}  // namespace isthmus
