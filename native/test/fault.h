// Makes the n-th system call of a kind fail, or fall short, in the threads of the engine. The linker replaces the calls (--wrap):
// the engine is the code that ships, and EINTR occurs where the kernel would return it.
//
// A call returns only errors that a kernel can return (fault_kinds.cc has the table). It also keeps the kernel's promises:
// - EAGAIN and a short read mean "drained": an edge follows when more bytes arrive. So the wrapper arms the socket again, and
//   epoll reports pending bytes once more. Without that a correct program would wait forever.
// - EAGAIN and a short write mean "full": an edge follows when there is room. The wrapper does the same.
// - An interrupted connect continues in the kernel: the wrapper makes the connection and then returns EINTR.
// - accept and the listening sockets are level-triggered: the wrapper does nothing more.
// - EPOLL_CTL_MOD and DEL of a registered descriptor, getsockopt and shutdown need no memory and do not fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace isthmus::fault {

enum class Call : std::uint8_t {
  kReceive,
  kSend,
  kSpliceIn,
  kSpliceOut,
  kAccept,
  kConnect,
  kSocket,
  kPipe,
  kPipeSize,
  kOpen,
  kEpollAdd,
  kEpollWait,
  kCount,
};

// Stands for an errno: the call succeeds, but moves only one byte.
constexpr int kShort = -1;

struct Fault {
  Call call;
  int nth;    // from 1
  int error;  // an errno, or kShort
};

struct Kind {
  Call call;
  int error;
  // True: the connection continues unaffected. False: the connection may end, but must end correctly.
  bool harmless;
  // The engine handles it like an earlier row, so only the scenarios of Lifetimes() and Routes() run with it.
  bool like_another = false;
};

const std::vector<Kind>& Kinds();
std::string NameOf(const Fault& fault);

// Resets all counts and plans these faults.
void Plan(std::vector<Fault> faults);
// Adds a fault for the `nth` call from now.
void Add(Call call, int error, int nth = 1);
// Makes every call of this kind fail until Recover().
void Always(Call call, int error);
void Recover();
int CountOf(Call call);
// How many of the planned faults have occurred.
int Happened();
// How many clients the engine has accepted.
int Accepted();

// Stops the engine's single worker as soon as it is idle. All events until Release() then arrive in one batch.
void Hold();
bool AwaitHeld();
// Lets the worker handle one batch and stops it again, even if it has more work.
bool Step();
void Release();

// Marks this thread as the test's own: its calls never fail.
void LeaveAlone();
// Marks a scope in which the engine works on the test's thread: calls can fail there.
class Engaged {
 public:
  Engaged();
  ~Engaged();
};

}  // namespace isthmus::fault
