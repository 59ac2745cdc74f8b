// The engine's limits, read off the object that JavaScript gives (`createEngine` in src/netns/native.ts).
#pragma once

#include <napi.h>

#include "engine/engine.h"

namespace isthmus {

// What is every worker's own is shared out among the threads.
EngineLimits EngineLimitsFrom(const Napi::Object& given, int threads);

}  // namespace isthmus
