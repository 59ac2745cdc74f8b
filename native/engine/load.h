// How busy one backend is: what all workers know of it, whichever answer they came by. Only connections that are balanced count:
// the others pay nothing for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace isthmus {

struct Load {
  std::atomic<int> connections{0};                // being opened, or open
  std::atomic<std::uint64_t> chosen{0};           // when it was last chosen, counted in choices
  std::atomic<std::int64_t> avoided_until_ns{0};  // it has just failed: the others first
  std::atomic<int> references{0};
};

// Keeps a load. Half the size of a shared pointer: each connection has room for one.
class LoadRef {
 public:
  LoadRef() = default;
  explicit LoadRef(Load* load) : load_(load) {
    if (load_ != nullptr) load_->references.fetch_add(1, std::memory_order_relaxed);
  }
  LoadRef(const LoadRef& other) : LoadRef(other.load_) {}
  LoadRef(LoadRef&& other) noexcept : load_(std::exchange(other.load_, nullptr)) {}
  LoadRef& operator=(LoadRef other) noexcept {
    std::swap(load_, other.load_);
    return *this;
  }
  ~LoadRef() {
    if (load_ != nullptr && load_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete load_;
  }

  Load* Get() const { return load_; }
  Load* operator->() const { return load_; }
  explicit operator bool() const { return load_ != nullptr; }

 private:
  Load* load_ = nullptr;
};

}  // namespace isthmus
