// Scenarios in which a resource runs out. In the worst case another thread also takes the spare descriptor: the worker can neither
// accept nor refuse a client, and the listener stays ready.
#include <cerrno>

#include "test/fault.h"
#include "test/scenario.h"

namespace isthmus {
namespace {

constexpr int kLookMs = 50;
// A pause costs two or three wake-ups, even on a slow machine. A spinning worker has thousands.
constexpr int kMostWakeUps = 200;
constexpr int kLongerThanAPauseMs = 120;

void RunOut() {
  fault::Always(fault::Call::kAccept, EMFILE);
  fault::Always(fault::Call::kOpen, EMFILE);
}

// One client is connected, no descriptor is left, and the next client waits in the queue. The worker is stopped.
bool BringToShortage(Stage& stage, int& client, int& backend, int& next) {
  if (!Relaying(stage, client, backend)) return false;
  RunOut();
  next = stage.Connect();
  return stage.Passed(stage.Send(next, "next") && stage.HoldStill(), "the worker becomes idle");
}

// A client arrives that the worker cannot accept. The worker must not spin.
bool WaitsWithoutSpinning(Stage& stage, int& next) {
  next = stage.Connect();
  const bool said = stage.Send(next, "next");
  const int before = fault::CountOf(fault::Call::kEpollWait);
  stage.Sleep(kLookMs);
  return stage.Passed(said, "the next client sends bytes") &&
         stage.Passed(fault::CountOf(fault::Call::kEpollWait) - before <= kMostWakeUps, "few wake-ups");
}

bool Served(Stage& stage, int next) {
  if (!stage.Asked("next")) return false;
  stage.AnswerClose("bye");
  return stage.Receive(next, "bye");
}

void FewWakeUps(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  RunOut();
  int next = -1;
  if (!WaitsWithoutSpinning(stage, next)) return;
  STEP(stage.Send(client, "meanwhile"));
  STEP(stage.Receive(backend, "meanwhile"));
  fault::Recover();
  STEP(Served(stage, next));
}

// The same without memory: the worker refuses no client, but cannot accept one for a short time.
void FewWakeUpsWithoutMemory(Stage& stage, const Scenario&) {
  fault::Always(fault::Call::kAccept, ENOBUFS);
  int next = -1;
  if (!WaitsWithoutSpinning(stage, next)) return;
  fault::Recover();
  STEP(Served(stage, next));
}

// One descriptor becomes free and becomes the spare. The worker refuses the client and reports it, as usual.
void RefusedWithTheFirst(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  int next = -1;
  if (!BringToShortage(stage, client, backend, next)) return;
  fault::Recover();
  fault::Add(fault::Call::kAccept, EMFILE);
  const int before = fault::CountOf(fault::Call::kOpen);
  fault::Release();
  STEP(stage.ReceiveReset(next));
  STEP(stage.Ended(Outcome::kRefusedDescriptors));
  STEP(fault::CountOf(fault::Call::kOpen) - before == 2);  // the spare: before the first accept, and again after the refusal used it
  STEP(stage.Send(client, "meanwhile"));
  STEP(stage.Receive(backend, "meanwhile"));
}

// Accepting resumes in the turn after a connection ends. It does not wait for the timer.
void ResumesWhenOneEnds(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  int next = -1;
  if (!BringToShortage(stage, client, backend, next)) return;
  fault::Recover();
  stage.AbortAll();
  STEP(fault::Step());
  STEP(fault::Step());
  STEP(fault::Accepted() == 2);
  fault::Release();
  STEP(Served(stage, next));
}

// After the close, no pause may end with a new watch on the listener.
void ClosedMeanwhile(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  int next = -1;
  if (!BringToShortage(stage, client, backend, next)) return;
  const int successor = stage.HandOverListener();
  stage.CloseListener(true);
  fault::Release();
  stage.Sleep(kLongerThanAPauseMs);
  STEP(stage.Send(client, "meanwhile"));
  STEP(stage.Receive(backend, "meanwhile"));
  STEP(stage.AcceptAt(successor) >= 0);
}

// JavaScript takes no events. A new client waits in the kernel's queue until JavaScript takes them.
void EventsNotTaken(Stage& stage, const Scenario& self) {
  const int most = static_cast<int>(self.options.max_waiting_events);
  for (int i = 0; i < most; i += 1) {
    stage.Finish(stage.Connect());
    STEP(stage.Settle());
  }
  STEP(fault::Accepted() == most);
  int next = -1;
  if (!WaitsWithoutSpinning(stage, next)) return;
  STEP(fault::Accepted() == most);
  STEP(Served(stage, next));
}

// The only pipe returns from an idle connection and serves the next one.
void PipeOfIdleConnection(Stage& stage, const Scenario&) {
  constexpr std::size_t kBulk = 2 << 20;
  for (int i = 0; i < 2; i += 1) {
    int client = -1;
    int backend = -1;
    if (!Relaying(stage, client, backend)) return;
    const int before = fault::CountOf(fault::Call::kSpliceIn);
    STEP(stage.Transfer(client, backend, kBulk, true));
    STEP(fault::CountOf(fault::Call::kSpliceIn) > before);
  }
}

}  // namespace

std::vector<Scenario> Shortages() {
  return {
      {"no descriptor is left, not even the spare one", {}, FewWakeUps},
      {"no memory is left to accept a client", {}, FewWakeUpsWithoutMemory},
      {"no descriptor is left, and then one becomes free", {}, RefusedWithTheFirst},
      {"no descriptor is left until a connection ends", {}, ResumesWhenOneEnds},
      {"no descriptor is left, and the listener closes", {}, ClosedMeanwhile},
      {"JavaScript does not take its events", {.max_waiting_events = 3}, EventsNotTaken},
      {"the only pipe returns from an idle connection", {.max_pipes = 1}, PipeOfIdleConnection},
  };
}

}  // namespace isthmus
