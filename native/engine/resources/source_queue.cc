#include "engine/resources/source_queue.h"

#include <sys/random.h>

#include <cstring>

namespace isthmus {

namespace {

std::uint64_t RandomSeed() {
  std::uint64_t seed = 0;
  // Without randomness the queue stays correct. An attacker that can predict the hash only makes it slower.
  if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof seed)) seed = 0x9e3779b97f4a7c15;
  return seed;
}

// A bijection (splitmix64): different addresses keep different keys.
std::uint64_t Mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

void SourcePlace::Leave() {
  if (queue_ != nullptr) queue_->Remove(*this);
}

SourceQueue::SourceQueue() : seed_(RandomSeed()), ranks_(2) {}

std::uint64_t SourceQueue::KeyOf(const sockaddr_in6& peer) const {
  std::uint64_t bits = 0;
  if (peer.sin6_family == AF_INET) {
    bits = reinterpret_cast<const sockaddr_in&>(peer).sin_addr.s_addr;
  } else if (IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr)) {
    std::uint32_t v4 = 0;
    std::memcpy(&v4, peer.sin6_addr.s6_addr + 12, sizeof v4);
    bits = v4;
  } else {
    std::memcpy(&bits, peer.sin6_addr.s6_addr, sizeof bits);
  }
  return Mixed(bits ^ seed_);
}

void SourceQueue::Add(SourcePlace& place, const sockaddr_in6& peer) {
  if (place.Queued()) return;
  const std::uint64_t key = KeyOf(peer);
  Source& source = sources_[key];
  if (source.count > 0) Unrank(source);
  source.key = key;
  place.queue_ = this;
  place.source_ = &source;
  place.previous_ = source.newest;
  place.next_ = nullptr;
  (source.newest != nullptr ? source.newest->next_ : source.oldest) = &place;
  source.newest = &place;
  source.count += 1;
  size_ += 1;
  Rank(source);
}

void SourceQueue::Remove(SourcePlace& place) {
  Source& source = *place.source_;
  Unrank(source);
  (place.previous_ != nullptr ? place.previous_->next_ : source.oldest) = place.next_;
  (place.next_ != nullptr ? place.next_->previous_ : source.newest) = place.previous_;
  place.queue_ = nullptr;
  place.source_ = nullptr;
  source.count -= 1;
  size_ -= 1;
  if (source.count > 0) Rank(source);
  else sources_.erase(source.key);
  // A count changes by one: when the top rank becomes empty, the next lower rank has a source, or the queue is empty.
  if (ranks_[largest_].first == nullptr && largest_ > 0) largest_ -= 1;
}

void SourceQueue::Unrank(Source& source) {
  RankList& rank = ranks_[source.count];
  (source.previous != nullptr ? source.previous->next : rank.first) = source.next;
  (source.next != nullptr ? source.next->previous : rank.last) = source.previous;
}

void SourceQueue::Rank(Source& source) {
  if (source.count >= ranks_.size()) ranks_.resize(2 * ranks_.size());
  RankList& rank = ranks_[source.count];
  source.previous = rank.last;
  source.next = nullptr;
  (rank.last != nullptr ? rank.last->next : rank.first) = &source;
  rank.last = &source;
  if (source.count > largest_) largest_ = source.count;
}

Connection* SourceQueue::OldestOfLargest() const {
  const Source* source = ranks_[largest_].first;
  return source == nullptr ? nullptr : &source->oldest->connection_;
}

}  // namespace isthmus
