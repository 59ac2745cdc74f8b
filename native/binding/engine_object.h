// The JavaScript object of the native engine: `createEngine(limits, threads, handlers)`, declared in src/netns/native.ts.
// All code here runs on the thread of its environment. The workers only push events and ring the bell. engine_answers.cc has the
// calls that answer questions, engine_object.cc has all others.
#pragma once

#include <napi.h>

namespace isthmus {

Napi::Value CreateEngine(const Napi::CallbackInfo& info);

}  // namespace isthmus
