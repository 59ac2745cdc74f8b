#include "engine/resources/hello_pool.h"

#include <cstdlib>
#include <cstring>

namespace isthmus {

HelloPool::HelloPool(std::size_t limit) : limit_(limit), slab_(new char[SlabBytes()]) {
  free_.reserve(kBlocks);
  // Last in, first out, so that a proxy with little traffic reuses the same few pages.
  for (std::uint32_t i = kBlocks; i > 0; i -= 1) free_.push_back(slab_.get() + std::size_t{i - 1} * kBlockBytes);
}

bool HelloPool::Take(std::size_t bytes) {
  const std::size_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= limit_) return true;
  Give(bytes);
  return false;
}

char* HelloPool::TakeBlock() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  char* block = free_.back();
  free_.pop_back();
  return block;
}

void HelloPool::GiveBlock(char* block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(block);
}

std::int32_t HelloBuffer::SlabOffset() const {
  if (pool_ == nullptr || !pool_->IsBlock(data_)) return -1;
  return static_cast<std::int32_t>(data_ - pool_->Slab());
}

bool HelloBuffer::Grow(HelloPool& pool) {
  if (SpaceBytes() > 0) return true;
  const std::uint32_t capacity = capacity_ == 0 ? HelloPool::kBlockBytes : capacity_ * 2;
  if (!pool.Take(Accounted(capacity) - Accounted(capacity_))) return false;
  char* grown = capacity_ == 0 ? pool.TakeBlock() : nullptr;
  if (grown == nullptr) grown = static_cast<char*>(std::malloc(capacity));
  if (grown == nullptr) {
    pool.Give(Accounted(capacity) - Accounted(capacity_));
    return false;
  }
  if (length_ > 0) std::memcpy(grown, data_, length_);
  const std::uint32_t length = length_;
  if (data_ != nullptr) {
    if (pool.IsBlock(data_)) pool.GiveBlock(data_);
    else std::free(data_);
  }
  pool_ = &pool;
  data_ = grown;
  length_ = length;
  capacity_ = capacity;
  return true;
}

void HelloBuffer::Release() {
  if (data_ == nullptr) return;
  if (pool_->IsBlock(data_)) pool_->GiveBlock(data_);
  else std::free(data_);
  pool_->Give(Accounted(capacity_));
  data_ = nullptr;
  length_ = capacity_ = 0;
}

}  // namespace isthmus
