// Pipes for splicing, as large as an unprivileged process may have them: with 512 KB, 16 connections up were 1.07 of HAProxy, with
// 1 MB 1.18, and down no worse (bench/README.md has the rest, and how sure that is). A pipe that still holds bytes is never used again.
// A connection has one only while bytes of it are on their way: thousands that were bulk once and are silent now must not keep them all.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace isthmus {

class PipePool {
 public:
  static constexpr int kPipeBytes = 1024 * 1024;

  // So many at the same time, those in use included.
  explicit PipePool(std::size_t most) : most_(most) {}
  PipePool(const PipePool&) = delete;
  PipePool& operator=(const PipePool&) = delete;
  ~PipePool() {
    for (const auto& [in, out] : free_) Close(in, out);
  }

  // False when there are no descriptors or too many pages in pipes: then bytes are copied instead.
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
    // Refused beyond pipe-user-pages-soft: the pipe is smaller then, and works.
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
