// The JavaScript object of the native engine: `createEngine(limits, threads, handlers)`, declared in src/netns/native.ts.
// All code here runs on the thread of its environment. The workers only push events and ring the bell.
#pragma once

#include <napi.h>

namespace isthmus {

Napi::Value CreateEngine(const Napi::CallbackInfo& info);

}  // namespace isthmus
