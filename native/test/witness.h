// Records which cells of the table in connection.h were reached: since the last ForgetWitnessed(), and in the whole run.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "engine/witness.h"

namespace isthmus {

void ForgetWitnessed();
bool Witnessed(State state, Trigger trigger);
std::set<std::pair<State, Trigger>> EverWitnessed();

// The row and column headings of that table.
std::string NameOf(State state);
std::string NameOf(Trigger trigger);

}  // namespace isthmus
