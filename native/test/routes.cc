// Connections whose answer has more than one backend, a share, or is prepared in the engine.
#include "test/fault.h"
#include "test/hello.h"
#include "test/scenario.h"

namespace isthmus {
namespace {

// The pool tries the member with the fewest connections first. Members whose dial failed come later, and unknown targets come last.
void EquivalentBackends(Stage& stage, const Scenario&) {
  const std::vector<std::uint32_t> all{4711, stage.Closed(), stage.Deaf(), stage.Live()};
  const int client = stage.Connect();
  STEP(stage.Send(client, "hello"));
  STEP(stage.Asked("hello"));
  stage.AnswerPool(all);
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, "hello"));
  STEP(stage.DialsFailed(2));
  const int second = stage.Connect();
  STEP(stage.Send(second, "hello"));
  STEP(stage.Asked("hello"));
  stage.AnswerPool(all);
  const int other = stage.AcceptAtBackend();
  STEP(stage.Receive(other, "hello"));
  const int third = stage.Connect();
  STEP(stage.Send(third, "hello"));
  STEP(stage.Asked("hello"));
  stage.AnswerPool({4711, stage.Closed()}, "farewell");
  STEP(stage.Receive(third, "farewell"));
  STEP(stage.DialsFailed(4));
  stage.Finish(third);
  STEP(stage.Ended(Outcome::kDialFailed));
  stage.Reset(client);
  STEP(stage.ReceiveReset(backend));
  stage.Finish(second);
  STEP(stage.ReceiveEnd(other));
  stage.Finish(other);
  STEP(stage.ReceiveEnd(second));
}

void EquivalentBackendsPrepared(Stage& stage, const Scenario&) {
  const std::string hello = HelloFor("demo.example");
  stage.PreparePool("demo.example", {stage.Closed(), stage.Live()}, "farewell");
  const int client = stage.Connect();
  STEP(stage.Send(client, hello));
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, hello));
  STEP(stage.DialsFailed(1));
  const int second = stage.Connect();
  STEP(stage.Send(second, hello));
  const int other = stage.AcceptAtBackend();
  STEP(stage.Receive(other, hello));
  stage.PrepareNothing();
  stage.Reset(backend);
  STEP(stage.ReceiveReset(client));
  stage.Reset(second);
  STEP(stage.ReceiveReset(other));
  STEP(stage.AllForgotten());
}

// The share has room for one connection, and the second is refused. Clear() checks that the first one frees its place.
void OneTooMany(Stage& stage, const Scenario&) {
  const int client = stage.Connect();
  STEP(stage.Send(client, "hello"));
  STEP(stage.Asked("hello"));
  stage.AnswerShared({stage.Live()}, "share", 1, "farewell");
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, "hello"));
  const int second = stage.Connect();
  STEP(stage.Send(second, "hello"));
  STEP(stage.Asked("hello"));
  stage.AnswerShared({stage.Live()}, "share", 1, "farewell");
  STEP(stage.ReceiveEnd(second));
  stage.Finish(second);
  STEP(stage.Ended(Outcome::kRefusedShare));
  STEP(stage.Send(backend, "reply"));
  STEP(stage.Receive(client, "reply"));
}

// The engine answers without a question and refuses the connection over the limit. After a route change it asks JavaScript.
void Prepared(Stage& stage, const Scenario&) {
  const std::string hello = HelloFor("demo.example");
  stage.Prepare("demo.example", {stage.Closed(), stage.Live()}, "share", 1, "farewell");
  const int client = stage.Connect();
  STEP(stage.Send(client, hello));
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, hello));
  STEP(stage.DialsFailed(1));
  const int second = stage.Connect();
  STEP(stage.Send(second, hello));
  STEP(stage.ReceiveEnd(second));
  stage.Finish(second);
  STEP(stage.Ended(Outcome::kRefusedShare));
  stage.PrepareNothing();
  const int third = stage.Connect();
  STEP(stage.Send(third, hello));
  STEP(stage.Asked(hello));
  stage.AnswerError();
  STEP(stage.ReceiveEnd(third));
  STEP(stage.Send(backend, "reply"));
  STEP(stage.Receive(client, "reply"));
  stage.Finish(client);
  STEP(stage.ReceiveEnd(backend));
  stage.Finish(backend);
  STEP(stage.ReceiveEnd(client));
}

void PreparedInTwo(Stage& stage, const Scenario&) {
  const std::string hello = HelloFor("demo.example");
  stage.Prepare("demo.example", {stage.Live()}, "share", 1, "farewell");
  const int client = stage.Connect();
  STEP(stage.Send(client, hello.substr(0, 30)));
  STEP(stage.Settle());
  STEP(stage.Send(client, hello.substr(30)));
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, hello));
  stage.Finish(client);
  STEP(stage.ReceiveEnd(backend));
  stage.Finish(backend);
  STEP(stage.Ended(Outcome::kFinished));
}

// The engine keeps a dropped answer until the last event of its connections is delivered, and no longer.
void Forgotten(Stage& stage, const Scenario&) {
  const std::string hello = HelloFor("demo.example");
  stage.Prepare("demo.example", {stage.Live()}, "share", 9, "farewell");
  const int client = stage.Connect();
  STEP(stage.Send(client, hello));
  const int backend = stage.AcceptAtBackend();
  STEP(stage.Receive(backend, hello));
  stage.PrepareNothing();
  STEP(stage.Settle());
  stage.Reset(client);
  STEP(stage.ReceiveReset(backend));
  STEP(stage.Ended(Outcome::kClientReset));
  STEP(stage.AllForgotten());
}

}  // namespace

std::vector<Scenario> Routes() {
  return {
      {"a pool of equivalent backends", {.connect_timeout_ms = 15}, EquivalentBackends},
      {"a prepared pool", {}, EquivalentBackendsPrepared},
      {"one connection over the limit", {}, OneTooMany},
      {"prepared", {}, Prepared},
      {"prepared, in two pieces", {}, PreparedInTwo},
      {"prepared, and dropped", {}, Forgotten},
  };
}

}  // namespace isthmus
