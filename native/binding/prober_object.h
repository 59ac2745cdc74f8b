// The prober as JavaScript holds it: `createProber(settings, ended)`, declared in src/netns/native.ts.
// Everything here runs on the thread of its environment; the prober's own thread only rings.
#pragma once

#include <napi.h>

namespace isthmus {

Napi::Value CreateProber(const Napi::CallbackInfo& info);

}  // namespace isthmus
