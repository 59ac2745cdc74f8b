// Makes system calls that the profile forbids, with harmless arguments, and prints the errno of each as JSON.
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

bool first = true;

void Print(const char* name, long result) {
  const int error = result < 0 ? errno : 0;
  printf("%s\"%s\":%d", first ? "{" : ",", name, error);
  first = false;
}

}  // namespace

int main() {
  union bpf_attr nothing;
  memset(&nothing, 0, sizeof nothing);
  Print("mount", mount("none", "/nonexistent", "tmpfs", 0, nullptr));
  Print("umount2", umount2("/nonexistent", 0));
  Print("unshare", unshare(0));
  Print("ptrace", ptrace(PTRACE_ATTACH, 0, nullptr, nullptr));
  Print("bpf", syscall(SYS_bpf, 9999, &nothing, sizeof nothing));
  Print("keyctl", syscall(SYS_keyctl, 9999, 0, 0, 0, 0));
  Print("clone3", syscall(SYS_clone3, nullptr, 0));
  Print("setns of any kind", setns(-1, 0));
  Print("setns of a mount namespace", setns(-1, CLONE_NEWNS));
  Print("setns of a network namespace", setns(-1, CLONE_NEWNET));
  Print("clone into a user namespace", syscall(SYS_clone, CLONE_NEWUSER | CLONE_THREAD, nullptr, nullptr, nullptr, nullptr));
  Print("a packet socket", socket(AF_PACKET, SOCK_RAW, 0));
  Print("a TCP socket", socket(AF_INET, SOCK_STREAM, 0));
  puts("}");
  return 0;
}
