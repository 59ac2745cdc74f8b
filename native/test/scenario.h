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

// Whole lives: what a fault in any call must not spoil.
std::vector<Scenario> Lives();
// One for each cell of the table in connection.h.
std::vector<Scenario> Cells();
// Where the prototype used what it had freed.
std::vector<Scenario> Traps();

}  // namespace isthmus
