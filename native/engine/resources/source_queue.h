// Connections that are not served yet, by client address. Under pressure the oldest connection of the address with the most connections
// is evicted, so a flood evicts its own connections. One thread uses the queue. Every operation takes constant time.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace isthmus {

struct Connection;
struct Source;
class SourceQueue;

// A place in the queue. The destructor removes it from the queue.
class SourcePlace {
 public:
  explicit SourcePlace(Connection& connection) : connection_(connection) {}
  ~SourcePlace() { Leave(); }
  SourcePlace(const SourcePlace&) = delete;
  SourcePlace& operator=(const SourcePlace&) = delete;

  bool Queued() const { return queue_ != nullptr; }
  void Leave();

 private:
  friend class SourceQueue;
  Connection& connection_;
  SourceQueue* queue_ = nullptr;
  Source* source_ = nullptr;
  SourcePlace* previous_ = nullptr;
  SourcePlace* next_ = nullptr;
};

// One address and its connections, oldest first.
struct Source {
  std::uint64_t key = 0;
  std::size_t count = 0;
  SourcePlace* oldest = nullptr;
  SourcePlace* newest = nullptr;
  Source* previous = nullptr;  // sources with the same count, in the order in which they reached it
  Source* next = nullptr;
};

class SourceQueue {
 public:
  SourceQueue();
  SourceQueue(const SourceQueue&) = delete;
  SourceQueue& operator=(const SourceQueue&) = delete;

  void Add(SourcePlace& place, const sockaddr_in6& peer);
  // The oldest connection of the address with the most connections. On a tie, the address that reached this number first. Null when the
  // queue is empty.
  Connection* OldestOfLargest() const;
  std::size_t Size() const { return size_; }

 private:
  friend class SourcePlace;
  void Remove(SourcePlace& place);
  // Sources with the same count form a list. Unrank() removes a source from its list, Rank() appends it.
  void Unrank(Source& source);
  void Rank(Source& source);

  // The IPv4 address, or the first 64 bits of the IPv6 address: within a /64 one client can choose any address.
  std::uint64_t KeyOf(const sockaddr_in6& peer) const;

  struct RankList {
    Source* first = nullptr;
    Source* last = nullptr;
  };

  const std::uint64_t seed_;
  std::unordered_map<std::uint64_t, Source> sources_;  // its elements never move, so pointers to them stay valid
  std::vector<RankList> ranks_;  // by number of connections
  std::size_t largest_ = 0;      // the highest number of connections of any source
  std::size_t size_ = 0;
};

}  // namespace isthmus
