#include "sys/netns_scope.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "sys/netns_file.h"

namespace isthmus {
namespace {

constexpr const char* kHomePath = "/proc/thread-self/ns/net";
constexpr const char* kNoWayBack =
    "this process could not return to its own network namespace, so it enters no other: it needs CAP_SYS_ADMIN in the user "
    "namespace that owns the network namespace in which it was started";

// Does not allocate and uses no stdio stream: it must not wait for a lock that another thread holds.
[[noreturn]] void Die(const char* what, int error) {
  const char* name = NameOfErrno(error).code;
  char message[320];
  const int length = std::snprintf(message, sizeof message,
                                   "isthmus linux-netns: FATAL: thread %ld %s: %s (errno %d). Traffic of one tenant could "
                                   "reach another: aborting.\n",
                                   ::syscall(SYS_gettid), what, name != nullptr ? name : "unknown error", error);
  if (length > 0) {
    const auto size = static_cast<std::size_t>(length) < sizeof message ? static_cast<std::size_t>(length) : sizeof message - 1;
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message, size);
  }
  std::abort();
}

}  // namespace

Result<HomeNetns> HomeNetns::OfCallingThread() {
  // /proc/self would be the main thread, which may be inside another netns now.
  auto fd = OpenNetnsFile(kHomePath);
  if (fd.Ok()) {
    struct stat status {};
    if (::fstat(fd.Value().Get(), &status) != 0) return SysError{errno, "fstat", nullptr, nullptr, kHomePath};
    return HomeNetns(std::move(fd.Value()), status.st_dev, status.st_ino);
  }
  SysError error = fd.Error();
  error.path = kHomePath;
  if (error.error == ENOENT) error.detail = "is /proc mounted?";
  return error;
}

std::optional<SysError> HomeNetns::CheckReturn() {
  if (return_checked_) return std::nullopt;
  if (::setns(fd_.Get(), CLONE_NEWNET) != 0) {
    return SysError{errno, "setns", nullptr, errno == EPERM ? kNoWayBack : nullptr};
  }
  return_checked_ = true;
  return std::nullopt;
}

void HomeNetns::Return() const {
  if (::setns(fd_.Get(), CLONE_NEWNET) != 0) Die("cannot return to its own network namespace", errno);
  // Verifies that this netns is home. A double close elsewhere in the process can close fd_, and its number can then refer
  // to another netns. The inode is sufficient proof: the kernel does not reuse the inode of a netns that is in use.
  struct stat status {};
  if (::fstat(fd_.Get(), &status) != 0 || status.st_ino != inode_ || status.st_dev != device_) {
    Die("returned to a network namespace that is not its own", EBADF);
  }
}

NetnsScope::NetnsScope(HomeNetns& home, const UniqueFd& target) : home_(home) {
  if (home.thread_ != std::this_thread::get_id()) Die("uses the home network namespace of another thread", EINVAL);
  error_ = home.CheckReturn();
  if (error_) return;
  if (::setns(target.Get(), CLONE_NEWNET) != 0) error_ = SysError{errno, "setns"};
}

NetnsScope::~NetnsScope() {
  if (!error_) home_.Return();
}

Result<std::string> OwnIdentity(const HomeNetns& home) { return IdentityOfCurrentNetns(home.Fd()); }

}  // namespace isthmus
