// Entering a network namespace and coming back. The only place in the program that calls setns().
// A thread that cannot return aborts the process: left in the wrong netns it would carry one tenant's bytes to another.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <thread>

#include "sys/sys_error.h"
#include "sys/unique_fd.h"

namespace isthmus {

// The netns in which a thread was born and to which it always returns. Belongs to that one thread.
class HomeNetns {
 public:
  // Call it on the thread itself, outside of any NetnsScope.
  static Result<HomeNetns> OfCallingThread();

  const UniqueFd& Fd() const { return fd_; }

 private:
  friend class NetnsScope;
  HomeNetns(UniqueFd fd, dev_t device, ino_t inode)
      : fd_(std::move(fd)), device_(device), inode_(inode), thread_(std::this_thread::get_id()) {}

  // Whether the way back is open, tried before anybody leaves for the first time: a process in a child user namespace
  // may enter a netns of its own but not return to one that it does not own. So that is an error, and not an abort.
  std::optional<SysError> CheckReturn();
  // Goes home or does not come back at all.
  void Return() const;

  UniqueFd fd_;
  dev_t device_;
  ino_t inode_;
  std::thread::id thread_;
  bool return_checked_ = false;
};

// While an entered scope lives, the calling thread is inside `target`; what runs there must be short, must not call into
// JavaScript and must not start threads (they would be born there).
class [[nodiscard]] NetnsScope {
 public:
  NetnsScope(HomeNetns& home, const UniqueFd& target);
  ~NetnsScope();
  NetnsScope(const NetnsScope&) = delete;
  NetnsScope& operator=(const NetnsScope&) = delete;

  // Absent: we are inside.
  const std::optional<SysError>& Error() const { return error_; }

 private:
  const HomeNetns& home_;
  std::optional<SysError> error_;
};

// The identity of the calling thread's own netns, read anew.
Result<std::string> OwnIdentity(const HomeNetns& home);

}  // namespace isthmus
