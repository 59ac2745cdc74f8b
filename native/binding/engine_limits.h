// Reads the engine's limits from the object that JavaScript passes to `createEngine` (src/netns/native.ts).
#pragma once

#include <napi.h>

#include "engine/engine.h"

namespace isthmus {

// Each worker has its own pipes, so `maxPipes` is divided by the number of threads.
EngineLimits EngineLimitsFrom(const Napi::Object& given, int threads);

}  // namespace isthmus
