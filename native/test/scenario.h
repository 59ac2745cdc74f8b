// A scenario: a story of clients, backends and answers, and how it is told step by step.
#pragma once

#include <string>
#include <vector>

#include "test/stage.h"

namespace isthmus {

struct Scenario {
  std::string name;
  StageOptions options;
  // A capture would need std::function; what differs among scenarios of a kind is in these two.
  void (*play)(Stage& stage, const Scenario& self);
  State state = State::kHello;
  Happening happening = Happening::kClientReady;
};

// A step that does not pass ends the story.
#define STEP(what) \
  if (!stage.Passed((what), #what)) return

// The beginnings that stories share. False: it failed, and the stage knows at which step.
inline bool AskAbout(Stage& stage, int& client, int receive_buffer = 0) {
  client = stage.Connect(receive_buffer);
  return stage.Passed(stage.Say(client, "hello") && stage.Asked("hello"), "asked about the hello");
}

inline bool Relaying(Stage& stage, int& client, int& backend, int receive_buffer = 0) {
  if (!AskAbout(stage, client, receive_buffer)) return false;
  stage.AnswerCandidates({stage.Live()});
  backend = stage.AcceptAtBackend();
  return stage.Passed(stage.Hear(backend, "hello"), "the backend hears the hello");
}

// Whole lives: what a fault in any call must not spoil.
std::vector<Scenario> Lives();
// One for each cell of the table in connection.h.
std::vector<Scenario> Cells();
// Where the prototype used what it had freed.
std::vector<Scenario> Traps();
// Out of descriptors, or of what else there is only so much of.
std::vector<Scenario> Shortages();
// How an end is called.
std::vector<Scenario> Endings();

}  // namespace isthmus
