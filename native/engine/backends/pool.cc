#include "engine/backends/pool.h"

#include <limits>
#include <utility>

#include "engine/tuning.h"

namespace isthmus {
namespace {

using Rank = Choice::Rank;

bool IsAvoided(const Load* load, std::int64_t now_ns) {
  return load->avoided_until_ns.load(std::memory_order_relaxed) > now_ns;
}

Rank RankOf(const Load* load, std::int64_t now_ns) {
  if (load == nullptr) return {true, std::numeric_limits<int>::max(), 0};  // no target: the dial always fails
  // A backend that has just failed ranks behind the others. It has the fewest connections, so otherwise it would get every new
  // client until the health checks remove it.
  return {IsAvoided(load, now_ns), load->connections.load(std::memory_order_relaxed),
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
    Rank rank;
    last_ = Best(pool, now_ns, rank);
    if (last_ == none || pool.loads[last_] == nullptr) return last_;
    if (race == kMostRaces) pool.loads[last_]->connections.fetch_add(1, std::memory_order_relaxed);
    else if (!TakeEqual(pool, now_ns, rank)) continue;
    pool.loads[last_]->chosen.store(1 + choices.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    return last_;
  }
}

std::size_t Choice::Best(const Pool& pool, std::int64_t now_ns, Rank& best_rank) const {
  std::size_t best = pool.loads.size();
  for (std::size_t i = 0; i < pool.loads.size(); i += 1) {
    if (!tried_.empty() && tried_[i]) continue;
    const Rank rank = RankOf(pool.loads[i], now_ns);
    if (best < pool.loads.size() && !(rank < best_rank)) continue;
    best = i;
    best_rank = rank;
  }
  return best;
}

// Another worker may have taken the best member since the comparison. Then each later member that still has as few connections is as
// good. If it compared all members again, a worker that is always a little earlier would win every time.
bool Choice::TakeEqual(const Pool& pool, std::int64_t now_ns, const Rank& rank) {
  const std::size_t count = pool.loads.size();
  const bool avoided = std::get<0>(rank);
  const int fewest = std::get<1>(rank);
  for (std::size_t step = 0; step < count; step += 1) {
    const std::size_t i = (last_ + step) % count;
    Load* const load = pool.loads[i];
    if (load == nullptr || (!tried_.empty() && tried_[i])) continue;
    if (IsAvoided(load, now_ns) != avoided) continue;
    int connections = fewest;
    if (load->connections.load(std::memory_order_relaxed) != fewest ||
        !load->connections.compare_exchange_strong(connections, fewest + 1, std::memory_order_relaxed))
      continue;
    last_ = i;
    return true;
  }
  return false;
}

}  // namespace isthmus
