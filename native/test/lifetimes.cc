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
  STEP(stage.Send(client, "he"));
  STEP(stage.Asked("he"));
  stage.AnswerMore(5);
  STEP(stage.Send(client, "l"));
  STEP(stage.Settle());
  STEP(stage.Send(client, "lo"));
  STEP(stage.Asked("hello"));
  stage.AnswerCandidates({stage.Live()}, "", 1);  // skips the "h", as the engine skips a PROXY header
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, "ello"));
  STEP(stage.Send(backend, "reply"));
  STEP(stage.Receive(client, "reply"));
  STEP(stage.Send(client, "the last"));
  stage.Finish(client);
  STEP(stage.Receive(backend, "the last"));
  STEP(stage.ReceiveEnd(backend));
  STEP(stage.Send(backend, "goodbye"));
  STEP(stage.Receive(client, "goodbye"));
  stage.Finish(backend);
  STEP(stage.ReceiveEnd(client));
  STEP(stage.Ended(Outcome::kFinished));
}

void BackendSpeaksFirst(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Asked(""));
  stage.AnswerCandidates({stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Send(backend, "220 welcome"));
  stage.Finish(backend);
  STEP(stage.Receive(client, "220 welcome"));
  STEP(stage.ReceiveEnd(client));
  STEP(stage.Send(client, "thanks"));
  stage.Finish(client);
  STEP(stage.Receive(backend, "thanks"));
  STEP(stage.ReceiveEnd(backend));
  STEP(stage.Ended(Outcome::kFinished));
}

void BulkUp(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  STEP(stage.Transfer(client, backend, kBulkBytes, true));
  stage.Finish(client);
  STEP(stage.ReceiveEnd(backend));
  // Enough small messages after the bulk to end splicing.
  for (int i = 0; i < 10; i += 1) {
    STEP(stage.Send(backend, "small"));
    STEP(stage.Receive(client, "small"));
  }
  stage.Finish(backend);
  STEP(stage.ReceiveEnd(client));
  STEP(stage.Ended(Outcome::kFinished));
}

// A bulk flow in segments of MTU size has a wide buffer until its source sends FIN, or until the connection breaks.
void BulkInSmallSegments(Stage& stage, const Scenario& self) {
  const int client = stage.Connect(0, 1400);
  STEP(stage.Send(client, "hello"));
  STEP(stage.Asked("hello"));
  stage.AnswerCandidates({stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, "hello"));
  STEP(stage.Transfer(client, backend, kBulkBytes, true));
  STEP(stage.Settle() && stage.WideFlows() == 1);
  if (self.trigger == Trigger::kClientReset) {
    stage.Reset(client);
    STEP(stage.Ended(Outcome::kClientReset));
    return;
  }
  stage.Finish(client);
  STEP(stage.ReceiveEnd(backend));
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
    STEP(stage.Send(backend, "small"));
    STEP(stage.Receive(client, "small"));
  }
  stage.Finish(backend);
  STEP(stage.ReceiveEnd(client));
  stage.Finish(client);
  STEP(stage.ReceiveEnd(backend));
  STEP(stage.Ended(Outcome::kFinished));
}

void LongHello(Stage& stage, const Scenario&) {
  const std::string hello(9'000, 'x');
  const int client = stage.Connect();
  STEP(stage.Send(client, hello.substr(0, 100)));
  STEP(stage.Asked(hello.substr(0, 100)));
  stage.AnswerMore(9'000);
  STEP(stage.Send(client, hello.substr(100)));
  STEP(stage.Asked(hello));
  stage.AnswerCandidates({stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, hello));
  stage.Finish(backend);
  stage.Finish(client);
  STEP(stage.Ended(Outcome::kFinished));
}

void Failover(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Send(client, "hello"));
  STEP(stage.Asked("hello"));
  // In order: refuses; unknown target; never answers; healthy.
  stage.AnswerCandidates({stage.Closed(), 4711, stage.Deaf(), stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.DialsFailed(3));
  STEP(stage.Receive(backend, "hello"));
  stage.Finish(client);
  STEP(stage.ReceiveEnd(backend));
  stage.Finish(backend);
  STEP(stage.Ended(Outcome::kFinished));
}

void NoBackendReachable(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Send(client, "hello"));
  STEP(stage.Asked("hello"));
  stage.AnswerCandidates({stage.Closed(), stage.Closed()});
  STEP(stage.DialsFailed(2));
  STEP(stage.ReceiveEnd(client));
  stage.Finish(client);
  STEP(stage.Ended(Outcome::kDialFailed));
}

void Alert(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Send(client, "hello"));
  STEP(stage.Asked("hello"));
  STEP(stage.Send(client, "and what will not be read"));
  stage.AnswerClose("alert");
  STEP(stage.Receive(client, "alert"));
  STEP(stage.ReceiveEnd(client));
  STEP(stage.Send(client, "nor this"));
  stage.Finish(client);
  STEP(stage.Ended(Outcome::kAlertSent));
}

void Close(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Asked(""));
  stage.AnswerClose("");
  STEP(stage.ReceiveEnd(client));
  stage.Finish(client);
  STEP(stage.Ended(Outcome::kClosed));
}

void ClientResets(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  STEP(stage.Send(client, "last bytes"));
  STEP(stage.Settle());
  stage.Reset(client);
  STEP(stage.Receive(backend, "last bytes"));
  STEP(stage.ReceiveReset(backend));
  STEP(stage.Ended(Outcome::kClientReset));
}

void BackendResets(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  stage.Finish(client);
  STEP(stage.ReceiveEnd(backend));
  STEP(stage.Send(backend, "last bytes"));
  STEP(stage.Settle());
  stage.Reset(backend);
  STEP(stage.Receive(client, "last bytes"));
  STEP(stage.ReceiveReset(client));
  STEP(stage.Ended(Outcome::kBackendReset));
}

// The listener closes while a client waits in its queue. The engine still serves that client.
void Drain(Stage& stage, const Scenario&) {
  STEP(stage.HoldStill());
  const int client = stage.Connect();
  STEP(stage.Send(client, "hello"));
  stage.CloseListener();
  fault::Release();
  STEP(stage.Asked("hello"));
  stage.AnswerCandidates({stage.Live()});
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, "hello"));
  stage.AbortAll();
  STEP(stage.ReceiveReset(client));
  STEP(stage.Ended(Outcome::kDrainExpired));
}

// After the stop the engine reports nothing. The test checks that nothing leaks.
void StopInTheMiddle(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  const int asking = stage.Connect();
  STEP(stage.Send(asking, "hello"));
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
    STEP(stage.Send(client, "before "));
    STEP(stage.SendUrgently(client, '!'));
    STEP(stage.Send(client, "after"));
    fault::Release();
    STEP(stage.Receive(backend, "before after"));
  }
  stage.Finish(client);
  STEP(stage.ReceiveEnd(backend));
  stage.Finish(backend);
  STEP(stage.Ended(Outcome::kFinished));
}

}  // namespace

std::vector<Scenario> Lifetimes() {
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
