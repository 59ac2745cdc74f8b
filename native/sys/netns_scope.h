// Enters a network namespace and returns. No other code of the program calls setns(). A thread that cannot return aborts
// the process: in the wrong netns it would send one tenant's bytes to another tenant.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <thread>

#include "sys/sys_error.h"
#include "sys/unique_fd.h"

namespace isthmus {

// The netns in which a thread started and to which it always returns. Only that thread may use it.
class HomeNetns {
 public:
  // Call it on the thread itself, outside any NetnsScope.
  static Result<HomeNetns> OfCallingThread();

  const UniqueFd& Fd() const { return fd_; }

 private:
  friend class NetnsScope;
  HomeNetns(UniqueFd fd, dev_t device, ino_t inode)
      : fd_(std::move(fd)), device_(device), inode_(inode), thread_(std::this_thread::get_id()) {}

  // Before the first entry, checks that the thread may return. A process in a child user namespace may enter its own netns
  // but not return to a netns that it does not own. The check turns that case into an error instead of an abort.
  std::optional<SysError> CheckReturn();
  // Enters the home netns, or aborts the process.
  void Return() const;

  UniqueFd fd_;
  dev_t device_;
  ino_t inode_;
  std::thread::id thread_;
  bool return_checked_ = false;
};

// While a scope without an error exists, the calling thread is inside `target`. Code in the scope must be short, must not call
// JavaScript, and must not start threads: a new thread would start in `target`.
class [[nodiscard]] NetnsScope {
 public:
  NetnsScope(HomeNetns& home, const UniqueFd& target);
  ~NetnsScope();
  NetnsScope(const NetnsScope&) = delete;
  NetnsScope& operator=(const NetnsScope&) = delete;

  // Empty: the thread is inside `target`.
  const std::optional<SysError>& Error() const { return error_; }

 private:
  const HomeNetns& home_;
  std::optional<SysError> error_;
};

// Reads the identity of the calling thread's current netns. The result is not cached.
Result<std::string> OwnIdentity(const HomeNetns& home);

}  // namespace isthmus
