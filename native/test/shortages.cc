// Out of descriptors, and even the number of the spare one is somebody else's by now: a client can be neither taken nor refused, and
// its listener is ready all the time.
#include <cerrno>

#include "test/fault.h"
#include "test/scenario.h"

namespace isthmus {
namespace {

constexpr int kLookMs = 50;
// Two or three for each pause, however slow the machine is; a worker that spins has thousands.
constexpr int kMostWakeUps = 200;
constexpr int kLongerThanAPauseMs = 120;

void RunOut() {
  fault::Always(fault::Call::kAccept, EMFILE);
  fault::Always(fault::Call::kOpen, EMFILE);
}

// Somebody is served, nothing is left, and the next one waits in the queue; the worker stands still.
bool BringToShortage(Stage& stage, int& client, int& backend, int& next) {
  if (!Relaying(stage, client, backend)) return false;
  RunOut();
  next = stage.Connect();
  return stage.Passed(stage.Say(next, "next") && stage.HoldStill(), "the worker has something else to do than to spin");
}

// Somebody comes who cannot be taken, and the worker does not spin over it.
bool WaitsInPeace(Stage& stage, int& next) {
  next = stage.Connect();
  const bool said = stage.Say(next, "next");
  const int before = fault::CountOf(fault::Call::kEpollWait);
  stage.Sleep(kLookMs);
  return stage.Passed(said, "the next one says something") &&
         stage.Passed(fault::CountOf(fault::Call::kEpollWait) - before <= kMostWakeUps, "few wake-ups");
}

bool Served(Stage& stage, int next) {
  if (!stage.Asked("next")) return false;
  stage.AnswerPart("bye");
  return stage.Hear(next, "bye");
}

void FewWakeUps(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  RunOut();
  int next = -1;
  if (!WaitsInPeace(stage, next)) return;
  STEP(stage.Say(client, "meanwhile"));
  STEP(stage.Hear(backend, "meanwhile"));
  fault::Recover();
  STEP(Served(stage, next));
}

// The same for want of memory: nobody is refused then, but for a moment nobody can be taken.
void FewWakeUpsForWantOfMemory(Stage& stage, const Scenario&) {
  fault::Always(fault::Call::kAccept, ENOBUFS);
  int next = -1;
  if (!WaitsInPeace(stage, next)) return;
  fault::Recover();
  STEP(Served(stage, next));
}

// One is free, and it becomes the spare one: who cannot be served is refused and told of, as ever.
void RefusedWithTheFirst(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  int next = -1;
  if (!BringToShortage(stage, client, backend, next)) return;
  fault::Recover();
  fault::Add(fault::Call::kAccept, EMFILE);
  const int before = fault::CountOf(fault::Call::kOpen);
  fault::Release();
  STEP(stage.HearReset(next));
  STEP(stage.Ended(Outcome::kRefusedDescriptors));
  STEP(fault::CountOf(fault::Call::kOpen) - before == 2);  // before anybody is accepted, and again after it was given up
  STEP(stage.Say(client, "meanwhile"));
  STEP(stage.Hear(backend, "meanwhile"));
}

// Not by its timer: in the turn after that in which one of ours ends.
void GoesOnWhenOneEnds(Stage& stage, const Scenario&) {
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

// Nothing may be left that would watch it again.
void ClosedMeanwhile(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  int next = -1;
  if (!BringToShortage(stage, client, backend, next)) return;
  const int successor = stage.HandOverListener();
  stage.CloseListener(true);
  fault::Release();
  stage.Sleep(kLongerThanAPauseMs);
  STEP(stage.Say(client, "meanwhile"));
  STEP(stage.Hear(backend, "meanwhile"));
  STEP(stage.AcceptAt(successor) >= 0);
}

// JavaScript does not look: who comes now waits in the kernel's queue, and is served when it does.
void EventsThatNobodyTakes(Stage& stage, const Scenario& self) {
  const int most = static_cast<int>(self.options.max_waiting_events);
  for (int i = 0; i < most; i += 1) {
    stage.Finish(stage.Connect());
    STEP(stage.Settle());
  }
  STEP(fault::Accepted() == most);
  int next = -1;
  if (!WaitsInPeace(stage, next)) return;
  STEP(fault::Accepted() == most);
  STEP(Served(stage, next));
}

// There is one, and whoever had it last is silent since: it is there for the next.
void PipesOfTheSilent(Stage& stage, const Scenario&) {
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
      {"no descriptor left, nor the spare one", {}, FewWakeUps},
      {"no memory to accept", {}, FewWakeUpsForWantOfMemory},
      {"no descriptor left, then one", {}, RefusedWithTheFirst},
      {"no descriptor left, until a connection ends", {}, GoesOnWhenOneEnds},
      {"no descriptor left, and the listener closes", {}, ClosedMeanwhile},
      {"events that nobody takes", {.max_waiting_events = 3}, EventsThatNobodyTakes},
      {"one pipe, and its last owner is silent", {.max_pipes = 1}, PipesOfTheSilent},
  };
}

}  // namespace isthmus
