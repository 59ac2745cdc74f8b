// Cases of the syscall layer that JavaScript cannot cause. test/netns/addon-sys.test.ts compiles it and runs one case per
// process. The linker wraps setns() and getsockopt(), which then fail on demand.
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "sys/netns_handle.h"
#include "sys/netns_scope.h"
#include "sys/sys_error.h"

namespace {

int setns_calls = 0;
int failing_setns_call = 0;  // the n-th call fails; 0: none
bool old_kernel = false;     // a kernel without SO_NETNS_COOKIE

}  // namespace

extern "C" {

int __real_setns(int fd, int type);
int __wrap_setns(int fd, int type) {
  if (++setns_calls == failing_setns_call) {
    errno = EPERM;
    return -1;
  }
  return __real_setns(fd, type);
}

int __real_getsockopt(int fd, int level, int option, void* value, socklen_t* size);
int __wrap_getsockopt(int fd, int level, int option, void* value, socklen_t* size) {
  if (old_kernel && level == SOL_SOCKET && option == 71) {
    errno = ENOPROTOOPT;
    return -1;
  }
  return __real_getsockopt(fd, level, option, value, size);
}

}  // extern "C"

namespace isthmus {
namespace {

int Fail(const SysError& error, const char* path) {
  std::printf("%s\n", MessageOf(error, path).c_str());
  return 1;
}

int Errnos() {
  for (int error = 1; error < 256; error++) {
    const ErrorName name = NameOfErrno(error);
    if (name.code != nullptr) std::printf("%d\t%s\t%s\n", error, name.code, name.message);
  }
  std::printf("%s\n", MessageOf({250, "socket"}, "/x").c_str());
  return 0;
}

int PrintIdentity(const char* path, HomeNetns& home) {
  auto handle = NetnsHandle::Open(path, home);
  if (!handle.Ok()) return Fail(handle.Error(), path);
  std::printf("%s\n", handle.Value().Identity().c_str());
  return 0;
}

int CreateSockets(const char* path, HomeNetns& home) {
  auto handle = NetnsHandle::Open(path, home);
  if (!handle.Ok()) return Fail(handle.Error(), path);
  for (int round = 0; round < 1000; round++) {
    auto socket = handle.Value().CreateTcpSocket(home, AddressFamily::kIpv6);
    if (!socket.Ok()) return Fail(socket.Error(), path);
  }
  std::printf("setns was called %d times\n", setns_calls);
  return 0;
}

int Run(const std::string& name, const char* path) {
  if (name == "errnos") return Errnos();
  auto home = HomeNetns::OfCallingThread();
  if (!home.Ok()) return Fail(home.Error(), home.Error().path);
  if (name == "identity") return PrintIdentity(path, home.Value());
  if (name == "old-kernel") {
    old_kernel = true;
    return PrintIdentity(path, home.Value());
  }
  if (name == "sockets") return CreateSockets(path, home.Value());
  // setns() calls: the first checks the return, the second enters, the third returns.
  if (name == "no-way-back" || name == "no-entry" || name == "no-return") {
    failing_setns_call = name == "no-way-back" ? 1 : name == "no-entry" ? 2 : 3;
    return PrintIdentity(path, home.Value());
  }
  if (name == "another-thread") {
    std::thread([&] { PrintIdentity(path, home.Value()); }).join();
    return 0;
  }
  if (name == "leak") {  // the sanitizer must report it
    static_cast<void>(new std::string("leaked, for the test of the test, and longer than any small string"));
    return 0;
  }
  std::printf("no such case: %s\n", name.c_str());
  return 2;
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) { return isthmus::Run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : ""); }
