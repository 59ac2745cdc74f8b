// Pipes for splicing, of the largest size that an unprivileged process may set. Measured with 16 uploads: 1.07 times HAProxy's throughput
// with 512 KB, 1.18 times with 1 MB; downloads were no worse (bench/README.md has the details and the spread). A flow holds a pipe only
// while it moves bytes, so that thousands of idle connections do not hold all pipes. A pipe that still contains bytes is never reused.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace isthmus {

class PipePool {
 public:
  static constexpr int kPipeBytes = 1024 * 1024;

  // `most` limits the open pipes, both free and in use.
  explicit PipePool(std::size_t most) : most_(most) {}
  PipePool(const PipePool&) = delete;
  PipePool& operator=(const PipePool&) = delete;
  ~PipePool() {
    for (const auto& [in, out] : free_) Close(in, out);
  }

  // False at the limit, without free descriptors, or with too many pages in pipes. The caller then copies the bytes.
  bool Take(int (&pipe)[2]) {
    if (!free_.empty()) {
      pipe[0] = free_.back().first;
      pipe[1] = free_.back().second;
      free_.pop_back();
      return true;
    }
    if (open_ >= most_) return false;
    if (::pipe2(pipe, O_NONBLOCK | O_CLOEXEC) != 0) {
      pipe[0] = pipe[1] = -1;
      return false;
    }
    // The kernel rejects this above pipe-user-pages-soft. The pipe is then smaller, but works.
    static_cast<void>(::fcntl(pipe[1], F_SETPIPE_SZ, kPipeBytes));
    open_ += 1;
    return true;
  }

  void Give(int (&pipe)[2], bool empty) {
    if (pipe[0] < 0) return;
    if (empty && free_.size() < kMostFree) {
      free_.emplace_back(pipe[0], pipe[1]);
    } else {
      Close(pipe[0], pipe[1]);
      open_ -= 1;
    }
    pipe[0] = pipe[1] = -1;
  }

 private:
  static constexpr std::size_t kMostFree = 64;

  static void Close(int in, int out) {
    ::close(in);
    ::close(out);
  }

  const std::size_t most_;
  std::size_t open_ = 0;
  std::vector<std::pair<int, int>> free_;
};

}  // namespace isthmus
