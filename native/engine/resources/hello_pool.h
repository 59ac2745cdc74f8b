// Buffers for the first bytes of connections. Nearly all hellos fit into one block of the slab. JavaScript sees the slab as one
// ArrayBuffer, so a question copies nothing. Longer hellos get memory of their own, up to a shared limit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace isthmus {

class HelloPool {
 public:
  static constexpr std::uint32_t kBlockBytes = 4096;
  static constexpr std::uint32_t kBlocks = 512;

  explicit HelloPool(std::size_t limit);

  char* Slab() { return slab_.get(); }
  static constexpr std::size_t SlabBytes() { return std::size_t{kBlockBytes} * kBlocks; }
  std::size_t Used() const { return used_.load(std::memory_order_relaxed); }

 private:
  friend class HelloBuffer;
  bool Take(std::size_t bytes);
  void Give(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  char* TakeBlock();
  void GiveBlock(char* block);
  bool IsBlock(const char* data) const { return data >= slab_.get() && data < slab_.get() + SlabBytes(); }

  const std::size_t limit_;
  std::unique_ptr<char[]> slab_;
  std::atomic<std::size_t> used_{0};
  std::mutex mutex_;
  std::vector<char*> free_;
};

class HelloBuffer {
 public:
  HelloBuffer() = default;
  ~HelloBuffer() { Release(); }
  HelloBuffer(const HelloBuffer&) = delete;
  HelloBuffer& operator=(const HelloBuffer&) = delete;

  const char* Data() const { return data_; }
  std::uint32_t Length() const { return length_; }
  char* Space() { return data_ + length_; }
  std::uint32_t SpaceBytes() const { return capacity_ - length_; }
  void Add(std::uint32_t bytes) { length_ += bytes; }
  // Whether it uses the shared hello memory.
  bool IsLarge() const { return Accounted(capacity_) > 0; }
  // The offset in the slab, or -1 when the buffer has memory of its own.
  std::int32_t SlabOffset() const;

  // Makes room for at least one more byte. False when the shared hello memory is used up.
  bool Grow(HelloPool& pool);
  void Release();

 private:
  // The first block of each connection does not count: the limit of connections bounds these blocks already. So a few clients with very
  // long hellos cannot block all other clients.
  static std::size_t Accounted(std::uint32_t capacity) {
    return capacity <= HelloPool::kBlockBytes ? 0 : capacity - HelloPool::kBlockBytes;
  }

  HelloPool* pool_ = nullptr;
  char* data_ = nullptr;
  std::uint32_t length_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace isthmus
