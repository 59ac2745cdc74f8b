// Complete connections, from accept to the end.
#include "test/fault.h"
#include "test/hello.h"
#include "test/scenario.h"

namespace isthmus {
namespace {

// More bytes than all socket buffers between the peers hold, so a reluctant reader blocks the engine with a real EAGAIN.
constexpr std::size_t kBulkBytes = 5 << 20;

void Echo(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Say(client, "he"));
  STEP(stage.Asked("he"));
  stage.AnswerMore(5);
  STEP(stage.Say(client, "l"));
  STEP(stage.Settle());
  STEP(stage.Say(client, "lo"));
  STEP(stage.Asked("hello"));
  stage.AnswerCandidates({stage.Live()}, "", 1);  // skips the "h", as the engine skips a PROXY header
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Hear(backend, "ello"));
  STEP(stage.Say(backend, "reply"));
  STEP(stage.Hear(client, "reply"));
  STEP(stage.Say(client, "the last"));
  stage.Finish(client);
  STEP(stage.Hear(backend, "the last"));
  STEP(stage.HearEnd(backend));
  STEP(stage.Say(backend, "goodbye"));
  STEP(stage.Hear(client, "goodbye"));
  stage.Finish(backend);
  STEP(stage.HearEnd(client));
  STEP(stage.Ended(Outcome::kFinished));
}

void BackendSpeaksFirst(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Asked(""));
  stage.AnswerCandidates({stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Say(backend, "220 welcome"));
  stage.Finish(backend);
  STEP(stage.Hear(client, "220 welcome"));
  STEP(stage.HearEnd(client));
  STEP(stage.Say(client, "thanks"));
  stage.Finish(client);
  STEP(stage.Hear(backend, "thanks"));
  STEP(stage.HearEnd(backend));
  STEP(stage.Ended(Outcome::kFinished));
}

void BulkUp(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  STEP(stage.Transfer(client, backend, kBulkBytes, true));
  stage.Finish(client);
  STEP(stage.HearEnd(backend));
  // Enough small messages after the bulk to end splicing.
  for (int i = 0; i < 10; i += 1) {
    STEP(stage.Say(backend, "small"));
    STEP(stage.Hear(client, "small"));
  }
  stage.Finish(backend);
  STEP(stage.HearEnd(client));
  STEP(stage.Ended(Outcome::kFinished));
}

// A bulk flow in segments of MTU size has a wide buffer until its source sends FIN, or until the connection breaks.
void BulkInSmallSegments(Stage& stage, const Scenario& self) {
  const int client = stage.Connect(0, 1400);
  STEP(stage.Say(client, "hello"));
  STEP(stage.Asked("hello"));
  stage.AnswerCandidates({stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Hear(backend, "hello"));
  STEP(stage.Transfer(client, backend, kBulkBytes, true));
  STEP(stage.Settle() && stage.WideFlows() == 1);
  if (self.trigger == Trigger::kClientReset) {
    stage.Reset(client);
    STEP(stage.Ended(Outcome::kClientReset));
    return;
  }
  stage.Finish(client);
  STEP(stage.HearEnd(backend));
  STEP(stage.Settle() && stage.WideFlows() == 0);
  stage.Finish(backend);
  STEP(stage.Ended(Outcome::kFinished));
}

void BulkDown(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  STEP(stage.Transfer(backend, client, kBulkBytes, true));
  for (int i = 0; i < 10; i += 1) {
    STEP(stage.Say(backend, "small"));
    STEP(stage.Hear(client, "small"));
  }
  stage.Finish(backend);
  STEP(stage.HearEnd(client));
  stage.Finish(client);
  STEP(stage.HearEnd(backend));
  STEP(stage.Ended(Outcome::kFinished));
}

void LongHello(Stage& stage, const Scenario&) {
  const std::string hello(9'000, 'x');
  const int client = stage.Connect();
  STEP(stage.Say(client, hello.substr(0, 100)));
  STEP(stage.Asked(hello.substr(0, 100)));
  stage.AnswerMore(9'000);
  STEP(stage.Say(client, hello.substr(100)));
  STEP(stage.Asked(hello));
  stage.AnswerCandidates({stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Hear(backend, hello));
  stage.Finish(backend);
  stage.Finish(client);
  STEP(stage.Ended(Outcome::kFinished));
}

void Failover(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Say(client, "hello"));
  STEP(stage.Asked("hello"));
  // In order: refuses; unknown target; never answers; healthy.
  stage.AnswerCandidates({stage.Closed(), 4711, stage.Deaf(), stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.DialsFailed(3));
  STEP(stage.Hear(backend, "hello"));
  stage.Finish(client);
  STEP(stage.HearEnd(backend));
  stage.Finish(backend);
  STEP(stage.Ended(Outcome::kFinished));
}

void NoBackendReachable(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Say(client, "hello"));
  STEP(stage.Asked("hello"));
  stage.AnswerCandidates({stage.Closed(), stage.Closed()});
  STEP(stage.DialsFailed(2));
  STEP(stage.HearEnd(client));
  stage.Finish(client);
  STEP(stage.Ended(Outcome::kDialFailed));
}

void Alert(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Say(client, "hello"));
  STEP(stage.Asked("hello"));
  STEP(stage.Say(client, "and what will not be read"));
  stage.AnswerClose("alert");
  STEP(stage.Hear(client, "alert"));
  STEP(stage.HearEnd(client));
  STEP(stage.Say(client, "nor this"));
  stage.Finish(client);
  STEP(stage.Ended(Outcome::kAlertSent));
}

void Close(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Asked(""));
  stage.AnswerClose("");
  STEP(stage.HearEnd(client));
  stage.Finish(client);
  STEP(stage.Ended(Outcome::kClosed));
}

void ClientResets(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  STEP(stage.Say(client, "last bytes"));
  STEP(stage.Settle());
  stage.Reset(client);
  STEP(stage.Hear(backend, "last bytes"));
  STEP(stage.HearReset(backend));
  STEP(stage.Ended(Outcome::kClientReset));
}

void BackendResets(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  stage.Finish(client);
  STEP(stage.HearEnd(backend));
  STEP(stage.Say(backend, "last bytes"));
  STEP(stage.Settle());
  stage.Reset(backend);
  STEP(stage.Hear(client, "last bytes"));
  STEP(stage.HearReset(client));
  STEP(stage.Ended(Outcome::kBackendReset));
}

// The listener closes while a client waits in its queue. The engine still serves that client.
void Drain(Stage& stage, const Scenario&) {
  STEP(stage.HoldStill());
  const int client = stage.Connect();
  STEP(stage.Say(client, "hello"));
  stage.CloseListener();
  fault::Release();
  STEP(stage.Asked("hello"));
  stage.AnswerCandidates({stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Hear(backend, "hello"));
  stage.AbortAll();
  STEP(stage.HearReset(client));
  STEP(stage.Ended(Outcome::kDrainExpired));
}

// After the stop the engine reports nothing. The test checks that nothing leaks.
void StopInTheMiddle(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  const int asking = stage.Connect();
  STEP(stage.Say(asking, "hello"));
  STEP(stage.Asked("hello"));
  stage.Connect();
  STEP(stage.Settle());
  STEP(stage.Fill(client));
  stage.Stop();
}

// A read stops at an urgent byte, and a splice never passes it. The bytes after it must still arrive.
void Urgent(Stage& stage, const Scenario& self) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  const bool spliced = self.trigger == Trigger::kBackendReady;
  if (spliced) STEP(stage.Transfer(client, backend, kBulkBytes, true));
  for (int i = 0; i < 2; i += 1) {
    STEP(stage.HoldStill());
    STEP(stage.Say(client, "before "));
    STEP(stage.SayUrgently(client, '!'));
    STEP(stage.Say(client, "after"));
    fault::Release();
    STEP(stage.Hear(backend, "before after"));
  }
  stage.Finish(client);
  STEP(stage.HearEnd(backend));
  stage.Finish(backend);
  STEP(stage.Ended(Outcome::kFinished));
}

}  // namespace

std::vector<Scenario> Lives() {
  const StageOptions immediate{.mode = ListenerMode::kImmediate};
  return {
      {"echo and half-close", {}, Echo},
      {"the backend speaks first", immediate, BackendSpeaksFirst},
      {"bulk to a reluctant backend", {}, BulkUp},
      {"bulk to a reluctant client", {}, BulkDown},
      {"bulk in small segments", {}, BulkInSmallSegments},
      {"bulk in small segments, and a reset", {}, BulkInSmallSegments, State::kRelaying, Trigger::kClientReset},
      {"a hello longer than a block", {}, LongHello},
      {"failover", {.connect_timeout_ms = 15}, Failover},
      {"no backend reachable", {}, NoBackendReachable},
      {"alert", {}, Alert},
      {"urgent bytes", {}, Urgent},
      {"urgent bytes in bulk", {}, Urgent, State::kRelaying, Trigger::kBackendReady},
      {"close", immediate, Close},
      {"the client resets", {}, ClientResets},
      {"the backend resets", {}, BackendResets},
      {"drain", {}, Drain},
      {"stop in the middle", {}, StopInTheMiddle},
  };
}

}  // namespace isthmus
