// Which cells of the table in connection.h have been reached: since the last Forget, and ever.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "engine/witness.h"

namespace isthmus {

void ForgetWitnessed();
bool Witnessed(State state, Happening happening);
std::set<std::pair<State, Happening>> EverWitnessed();

// As the table's rows and columns are headed.
std::string NameOf(State state);
std::string NameOf(Happening happening);

}  // namespace isthmus
