// Cases in which the prototype used freed memory, freed twice, or answered the wrong connection, and similar cases.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "test/fault.h"
#include "test/scenario.h"

namespace isthmus {
namespace {

// A reset or an abort arrives while JavaScript decides. JavaScript reads the bytes after that, and then answers.
void ResetWhileAsking(Stage& stage, const Scenario&) {
  int client = -1;
  if (!AskAbout(stage, client)) return;
  stage.Reset(client);
  STEP(stage.Settle());
  STEP(stage.StillReads("hello"));
  stage.AnswerCandidates({stage.Live()});
  STEP(stage.Ended(Outcome::kClientReset));
}

void ResetWhileAskingThenMore(Stage& stage, const Scenario&) {
  int client = -1;
  if (!AskAbout(stage, client)) return;
  stage.Reset(client);
  STEP(stage.Settle());
  STEP(stage.StillReads("hello"));
  stage.AnswerMore(100);
  STEP(stage.Ended(Outcome::kClientLeft));
}

void AbortWhileAsking(Stage& stage, const Scenario&) {
  int client = -1;
  if (!AskAbout(stage, client)) return;
  stage.AbortAll();
  stage.AbortAll();
  STEP(stage.ReceiveReset(client));
  STEP(stage.Settle());
  // The engine must not reuse the slot and the bytes before the answer arrives.
  const int other = stage.Connect();
  STEP(stage.Send(other, "other"));
  STEP(stage.Settle());
  STEP(stage.StillReads("hello"));
  stage.AnswerCandidates({stage.Live()});
  STEP(stage.Ended(Outcome::kDrainExpired));
  STEP(stage.Asked("other"));
  stage.AnswerClose("");
  STEP(stage.ReceiveEnd(other));
}

// Two events arrive in one batch, and the first ends the connection.
void BothReset(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  STEP(stage.HoldStill());
  stage.Reset(client);
  stage.Reset(backend);
  fault::Release();
  STEP(stage.Ended(Outcome::kClientReset));
}

void BothResetTheOtherWayRound(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  STEP(stage.HoldStill());
  stage.Reset(backend);
  STEP(stage.Send(client, "x"));
  stage.Reset(client);
  fault::Release();
  STEP(stage.Ended(Outcome::kBackendReset) || stage.Ended(Outcome::kClientReset));
}

void BothFinish(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  STEP(stage.HoldStill());
  stage.Finish(client);
  stage.Finish(backend);
  fault::Release();
  STEP(stage.Ended(Outcome::kFinished));
}

// The connection is in the backlog when it ends.
void AbortedInTheBacklog(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  STEP(stage.Fill(backend));
  STEP(stage.HoldStill());
  stage.Reset(backend);
  stage.AbortAll();
  fault::Release();
  STEP(stage.Ended(Outcome::kDrainExpired));
}

// An answer for an ended connection arrives when another connection uses its slot.
void SlotUsedAgain(Stage& stage, const Scenario&) {
  int first = -1;
  if (!AskAbout(stage, first)) return;
  const std::uint64_t gone = stage.Connection();
  stage.AnswerError();
  STEP(stage.Ended(Outcome::kPolicyError));
  int second = -1;
  if (!AskAbout(stage, second)) return;
  STEP(ConnectionId::Of(stage.Connection()).slot == ConnectionId::Of(gone).slot && stage.Connection() != gone);
  stage.AnswerUnasked(gone, Answer{Answer::Kind::kPolicyError});
  STEP(stage.Settle());
  stage.AnswerCandidates({stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, "hello"));
  stage.AnswerUnasked(stage.Connection(), Answer{Answer::Kind::kPolicyError});  // the engine ignores a second answer
  STEP(stage.Settle());
  STEP(stage.Send(second, "more"));
  STEP(stage.Receive(backend, "more"));
}

// A connection ends and a new one takes its slot in one batch, while events still point at the old record.
void ReplacedInOneBatch(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  STEP(stage.HoldStill());
  stage.AbortAll();
  const int next = stage.Connect();
  STEP(stage.Send(next, "next"));
  STEP(stage.Send(backend, "x"));
  STEP(stage.Send(client, "x"));
  fault::Release();
  STEP(stage.Asked("next"));
  STEP(stage.Ended(Outcome::kDrainExpired));
  stage.AnswerClose("bye");
  STEP(stage.Receive(next, "bye"));
}

// The listener is closed before its own event in the same batch.
void ListenerClosedBeforeItsEvent(Stage& stage, const Scenario&) {
  STEP(stage.HoldStill());
  stage.AnswerUnasked(ConnectionId{0, 0, 0}.Packed(), Answer{Answer::Kind::kMore});  // the wake-up is first in the batch
  const int client = stage.Connect();
  stage.CloseListener();
  STEP(stage.Send(client, "hello"));
  fault::Release();
  STEP(stage.Asked("hello"));
  stage.AnswerClose("bye");
  STEP(stage.Receive(client, "bye"));
}

// Commands of the batch close the listener and end all connections before the listener's event. A client accepted then would never end.
void ListenerClosedThenAborted(Stage& stage, const Scenario&) {
  const int successor = stage.HandOverListener();
  STEP(stage.HoldStill());
  stage.AnswerUnasked(ConnectionId{0, 0, 0}.Packed(), Answer{Answer::Kind::kMore});  // the wake-up is first in the batch
  stage.Connect();
  // Simulates a client that arrives after the last accept of both threads.
  fault::Add(fault::Call::kAccept, EAGAIN);
  fault::Add(fault::Call::kAccept, EAGAIN, 2);
  stage.CloseListener();
  stage.AbortAll();
  fault::Release();
  STEP(stage.Settle());
  STEP(fault::Accepted() == 0);
  STEP(stage.AcceptAt(successor) >= 0);
}

// Such a listener would never accept a client: opening it returns the error and leaks nothing.
void ListenerThatIsNotWatched(Stage& stage, const Scenario&) {
  fault::Add(fault::Call::kEpollAdd, ENOMEM);
  STEP(stage.OpenAnother() == ENOMEM);
  STEP(stage.OpenAnother() == 0);
  int client = -1;
  int backend = -1;
  static_cast<void>(Relaying(stage, client, backend));
}

// A forked child that has not called exec yet. It has a copy of every descriptor except those of the two peers, which represent
// other machines.
class Child {
 public:
  Child(int client, int backend) : pid_(::fork()) {
    if (pid_ == 0) {
      ::close(client);
      ::close(backend);
      for (;;) ::raise(SIGSTOP);
    }
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  const pid_t pid_;
};

// A close does not remove a socket from epoll while a child holds a copy. The engine must remove it: its events would otherwise
// reach the connection that now uses the same memory.
void ClosedWhileAChildHoldsIt(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  const Child child(client, backend);
  stage.AbortAll();
  STEP(stage.Ended(Outcome::kDrainExpired));
  STEP(stage.Settle());
  int next = -1;
  if (!AskAbout(stage, next)) return;
  stage.AnswerCandidates({stage.Deaf(), stage.Live()});
  STEP(stage.Settle());
  stage.Reset(client);
  STEP(stage.Send(backend, "x"));
  stage.Reset(backend);
  STEP(stage.DialsFailed(1));
  const int other = stage.AcceptAtBackend();
  STEP(stage.Receive(other, "hello"));
  STEP(stage.Send(other, "reply"));
  STEP(stage.Receive(next, "reply"));
}

}  // namespace

std::vector<Scenario> Traps() {
  return {
      {"a reset while JavaScript decides", {}, ResetWhileAsking},
      {"a reset while JavaScript decides, which then asks for more", {}, ResetWhileAskingThenMore},
      {"an abort while JavaScript decides", {}, AbortWhileAsking},
      {"both sides reset in one batch", {}, BothReset},
      {"both sides reset in one batch, the backend first", {}, BothResetTheOtherWayRound},
      {"both sides finish in one batch", {}, BothFinish},
      {"an abort while a connection waits for its next turn", {}, AbortedInTheBacklog},
      {"an answer for a connection that has ended", {}, SlotUsedAgain},
      {"a connection ends and is replaced in one batch", {}, ReplacedInOneBatch},
      {"a close while a child process holds a copy", {.connect_timeout_ms = 100}, ClosedWhileAChildHoldsIt},
      {"a listener closes before its event", {}, ListenerClosedBeforeItsEvent},
      {"a listener and all its connections end before its event", {}, ListenerClosedThenAborted},
      {"a listener that epoll cannot watch", {}, ListenerThatIsNotWatched},
  };
}

}  // namespace isthmus
