// Lets the n-th system call of a kind fail, or fall short, in the threads of the engine. The linker puts these in the place of the
// calls (--wrap), so that the engine is the one that ships, and EINTR is met where the kernel would say it.
//
// Only what a kernel can say is said (fault_kinds.cc is the table), and where it promises something along with it, that is kept:
// - EAGAIN and a short read mean "drained, you will be told of more": an edge follows. Here the socket is armed again right after,
//   so that epoll tells it once more if there is anything. Without that a correct program would wait for ever.
// - EAGAIN and a short write mean "full, you will be told of room": likewise.
// - A connect that is interrupted goes on: it is made, and then said to have been interrupted.
// - accept and the listening sockets are level-triggered: nothing is needed.
// - EPOLL_CTL_MOD and DEL of what is there, getsockopt and shutdown need no memory and do not fail.
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

// What it says in place of an errno when it does its work, but for one byte only.
constexpr int kShort = -1;

struct Fault {
  Call call;
  int nth;    // from 1
  int error;  // an errno, or kShort
};

struct Kind {
  Call call;
  int error;
  // The work goes on as if nothing had happened. Else the connection may end, but must do so in order.
  bool harmless;
  // The engine does not tell it from the one before: whole lives meet it, single cells need not.
  bool like_another = false;
};

const std::vector<Kind>& Kinds();
std::string NameOf(const Fault& fault);

// Forgets all counts; these faults happen from now on.
void Plan(std::vector<Fault> faults);
// One more, the `nth` from now.
void Add(Call call, int error, int nth = 1);
// From now on every call of this kind, until Recover().
void Always(Call call, int error);
void Recover();
int CountOf(Call call);
// How many of the planned ones have happened.
int Happened();
// Clients that the engine has taken.
int Accepted();

// The engine's (one) worker stands still as soon as it has nothing to do: what happens then, until Release(), arrives in one batch.
void Hold();
bool AwaitHeld();
// One batch, and it stands again, whatever there is to do.
bool Step();
void Release();

// The calls of this thread are the test's own, and never fail.
void LeaveAlone();
// But for these: the engine's work on this thread.
class Engaged {
 public:
  Engaged();
  ~Engaged();
};

}  // namespace isthmus::fault
