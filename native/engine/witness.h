// Tells the fault walk (native/test) which cell of the table in connection.h is reached. In the addon it is nothing.
#pragma once

#include "engine/connection.h"

#ifdef ISTHMUS_WITNESS
namespace isthmus {
void Witness(State state, Happening happening);
}
#else
namespace isthmus {
inline void Witness(State, Happening) {}
}  // namespace isthmus
#endif
