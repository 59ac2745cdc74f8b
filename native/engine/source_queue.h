// Connections that are not served yet, by the address they come from. Under pressure the address that holds most of them loses its
// oldest, so that a flood evicts itself. One thread uses it; every operation takes constant time.
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

// A place in the queue. It leaves the queue when it is destroyed.
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

// One address, and its connections from the oldest to the newest.
struct Source {
  std::uint64_t key = 0;
  std::size_t count = 0;
  SourcePlace* oldest = nullptr;
  SourcePlace* newest = nullptr;
  Source* previous = nullptr;  // of the same count, in the order in which they reached it
  Source* next = nullptr;
};

class SourceQueue {
 public:
  SourceQueue();
  SourceQueue(const SourceQueue&) = delete;
  SourceQueue& operator=(const SourceQueue&) = delete;

  void Add(SourcePlace& place, const sockaddr_in6& peer);
  // The oldest connection of the address that has most of them; of several such addresses, that of the one which has had so many for
  // longest. None when the queue is empty.
  Connection* OldestOfLargest() const;
  std::size_t Size() const { return size_; }

 private:
  friend class SourcePlace;
  void Remove(SourcePlace& place);
  // Moves a source between the lists of those that have the same number of connections.
  void Unrank(Source& source);
  void Rank(Source& source);

  // IPv4 by address, IPv6 by its first 64 bits: one client has as many addresses there as it likes.
  std::uint64_t KeyOf(const sockaddr_in6& peer) const;

  struct RankList {
    Source* first = nullptr;
    Source* last = nullptr;
  };

  const std::uint64_t seed_;
  std::unordered_map<std::uint64_t, Source> sources_;  // its nodes stay where they are
  std::vector<RankList> ranks_;  // by number of connections
  std::size_t largest_ = 0;      // no source has more
  std::size_t size_ = 0;
};

}  // namespace isthmus
