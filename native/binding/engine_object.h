// The native engine as JavaScript holds it: `createEngine(limits, threads, handlers)`, declared in src/netns/native.ts.
// Everything here runs on the thread of its environment; the workers only push events and ring.
#pragma once

#include <napi.h>

namespace isthmus {

Napi::Value CreateEngine(const Napi::CallbackInfo& info);

}  // namespace isthmus
