// The load of one backend. All workers and all answers that name the backend share it. Only connections through a pool count, so
// other connections have no additional cost.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace isthmus {

struct Load {
  std::atomic<int> connections{0};                // dialling or open
  std::atomic<std::uint64_t> chosen{0};           // the number of the choice that last selected it
  std::atomic<std::int64_t> avoided_until_ns{0};  // after a failed dial: until then it ranks behind the others
  std::atomic<int> references{0};
};

// A counted reference to a load. It is half the size of a std::shared_ptr, which matters because each connection has one.
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
