// Reports to the tests (native/test) which cells of the table in connection.h are reached. In the addon this does nothing.
#pragma once

#include "engine/connection.h"

#ifdef ISTHMUS_WITNESS
namespace isthmus {
void Witness(State state, Trigger trigger);
}
#else
namespace isthmus {
inline void Witness(State, Trigger) {}
}  // namespace isthmus
#endif
