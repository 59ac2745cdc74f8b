// The JavaScript object of the prober: `createProber(settings, ended)`, declared in src/netns/native.ts.
// All code here runs on the thread of its environment. The prober's own thread only rings the bell.
#pragma once

#include <napi.h>

namespace isthmus {

Napi::Value CreateProber(const Napi::CallbackInfo& info);

}  // namespace isthmus
