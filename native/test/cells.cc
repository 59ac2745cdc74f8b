// One scenario for each cell of the table in connection.h: bring a connection into the state, then cause the event.
#include <cerrno>

#include "test/fault.h"
#include "test/scenario.h"
#include "test/witness.h"

namespace isthmus {
namespace {

struct Sides {
  int client = -1;
  int backend = -1;
};

bool BringToRelaying(Stage& stage, Sides& sides, int receive_buffer = 0) {
  return Relaying(stage, sides.client, sides.backend, receive_buffer);
}

// Dials a backend that never answers. If the backend has to act, stops the worker right after the dial instead.
bool BringToConnecting(Stage& stage, Sides& sides, Trigger trigger) {
  if (!AskAbout(stage, sides.client)) return false;
  const bool backend_acts = trigger == Trigger::kBackendReady || trigger == Trigger::kBackendFin ||
                            trigger == Trigger::kBackendReset;
  if (!backend_acts) {
    stage.AnswerCandidates({stage.Deaf()}, "farewell");
    return stage.Passed(stage.Settle(), "settled");
  }
  fault::Add(fault::Call::kSend, EAGAIN);  // simulates a slow handshake
  if (!stage.Passed(stage.HoldStill(), "held")) return false;
  stage.AnswerCandidates({stage.Live()}, "farewell");
  if (!stage.Passed(fault::Step(), "held after the dial")) return false;
  sides.backend = stage.AcceptAtBackend();
  return stage.Passed(sides.backend >= 0, "the backend is dialled");
}

// One side has failed, and the other side has not received all its bytes.
bool BringToResetting(Stage& stage, Sides& sides) {
  if (!BringToRelaying(stage, sides, 4096)) return false;
  if (!stage.Passed(stage.Send(sides.backend, std::string(60'000, 'x')) && stage.Settle(), "the client has more than it reads")) {
    return false;
  }
  // The send fails with ENOMEM, so the backend stays alive and can act in this state too.
  fault::Add(fault::Call::kSend, ENOMEM);
  fault::Add(fault::Call::kSend, ENOMEM, 2);
  return stage.Passed(stage.Send(sides.client, "x") && stage.Settle(), "a send fails");
}

// The source of the bytes resets while the engine still holds bytes that the client does not read.
bool BringToBroken(Stage& stage, Sides& sides) {
  if (!BringToRelaying(stage, sides, 4096)) return false;
  if (!stage.Passed(stage.Fill(sides.backend), "all buffers are full")) return false;
  stage.Reset(sides.backend);
  return stage.Passed(stage.Settle(), "settled");
}

bool Bring(Stage& stage, const Scenario& self, Sides& sides) {
  switch (self.state) {
    case State::kHello:
      sides.client = stage.Connect();
      return stage.Passed(stage.Settle(), "settled");
    case State::kAsking:
      return AskAbout(stage, sides.client);
    case State::kConnecting:
      return BringToConnecting(stage, sides, self.trigger);
    case State::kRelaying:
      return self.trigger == Trigger::kDeadline ? BringToBroken(stage, sides) : BringToRelaying(stage, sides);
    case State::kClosing:
      if (!AskAbout(stage, sides.client)) return false;
      stage.AnswerClose("alert");
      return stage.Passed(stage.ReceiveEnd(sides.client) && stage.Settle(), "the client hears the end");
    case State::kResetting:
      return BringToResetting(stage, sides);
    case State::kDead:
      // The abort comes first in the batch. The event follows in the same batch.
      if (!BringToRelaying(stage, sides) || !stage.Passed(stage.HoldStill(), "held")) return false;
      stage.AbortAll();
      return true;
  }
  return false;
}

bool Cause(Stage& stage, Trigger trigger, const Sides& sides) {
  switch (trigger) {
    case Trigger::kClientReady:
      return stage.Send(sides.client, "x");
    case Trigger::kClientFin:
      stage.Finish(sides.client);
      return true;
    case Trigger::kClientReset:
      stage.Reset(sides.client);
      return true;
    case Trigger::kBackendReady:
      return stage.Send(sides.backend, "x");
    case Trigger::kBackendFin:
      stage.Finish(sides.backend);
      return true;
    case Trigger::kBackendReset:
      stage.Reset(sides.backend);
      return true;
    case Trigger::kDeadline:
      stage.Sleep(40);
      return true;
    case Trigger::kAnswer:
      // The id of the engine's first connection. The scenario has no other.
      stage.AnswerUnasked(ConnectionId{0, 0, 1}.Packed(), Answer{Answer::Kind::kClose});
      return true;
    case Trigger::kAbort:
      stage.AbortAll();
      return true;
  }
  return false;
}

void Cell(Stage& stage, const Scenario& self) {
  Sides sides;
  if (!Bring(stage, self, sides)) return;
  STEP(Cause(stage, self.trigger, sides));
  fault::Release();
  STEP(stage.Settle());
  STEP(Witnessed(self.state, self.trigger));
}

bool CanHappen(State state, Trigger trigger) {
  const bool backend = trigger >= Trigger::kBackendReady && trigger <= Trigger::kBackendReset;
  if (state == State::kDead) return trigger <= Trigger::kBackendReset;
  return !backend || state == State::kConnecting || state == State::kRelaying || state == State::kResetting;
}

}  // namespace

std::vector<Scenario> Cells() {
  std::vector<Scenario> cells;
  for (int state = 0; state <= static_cast<int>(State::kDead); state += 1) {
    for (int trigger = 0; trigger <= static_cast<int>(Trigger::kAbort); trigger += 1) {
      Scenario cell{"", {}, Cell, static_cast<State>(state), static_cast<Trigger>(trigger)};
      if (!CanHappen(cell.state, cell.trigger)) continue;
      cell.name = NameOf(cell.state) + " × " + NameOf(cell.trigger);
      // The backend never answers, so the dial ends at its deadline. The deadline must come after the event.
      if (cell.state == State::kConnecting) cell.options.connect_timeout_ms = 200;
      if (cell.trigger == Trigger::kDeadline) cell.options = {ListenerMode::kHello, 25, 25, 25};
      cells.push_back(cell);
    }
  }
  return cells;
}

}  // namespace isthmus
