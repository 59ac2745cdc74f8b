// A scenario: a sequence of steps by clients, backends and answers.
#pragma once

#include <string>
#include <vector>

#include "test/stage.h"

namespace isthmus {

struct Scenario {
  std::string name;
  StageOptions options;
  // A function pointer cannot capture. `state` and `trigger` are its parameters.
  void (*play)(Stage& stage, const Scenario& self);
  State state = State::kHello;
  Trigger trigger = Trigger::kClientReady;
};

// A failed step ends the scenario.
#define STEP(what) \
  if (!stage.Passed((what), #what)) return

// The common first steps of scenarios. False: a step failed, and the stage has recorded it.
inline bool AskAbout(Stage& stage, int& client, int receive_buffer = 0) {
  client = stage.Connect(receive_buffer);
  return stage.Passed(stage.Send(client, "hello") && stage.Asked("hello"), "asked about the hello");
}

inline bool Relaying(Stage& stage, int& client, int& backend, int receive_buffer = 0) {
  if (!AskAbout(stage, client, receive_buffer)) return false;
  stage.AnswerCandidates({stage.Live()});
  backend = stage.AcceptAtBackend();
  return stage.Passed(stage.Receive(backend, "hello"), "the backend hears the hello");
}

// Complete connections: a fault in any call must not break them.
std::vector<Scenario> Lifetimes();
// The same for connections with several backends, shares and prepared answers.
std::vector<Scenario> Routes();
// One for each cell of the table in connection.h.
std::vector<Scenario> Cells();
// Cases in which the prototype used freed memory.
std::vector<Scenario> Traps();
// Shortages of descriptors, memory, event space and pipes.
std::vector<Scenario> Shortages();
// Which outcome the engine reports for an end.
std::vector<Scenario> Endings();

}  // namespace isthmus
