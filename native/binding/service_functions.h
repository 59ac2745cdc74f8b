// The addon's plain functions for life under a supervisor: telling it, and taking over or handing over descriptors.
#pragma once

#include <napi.h>

namespace isthmus {

Napi::Value NotifyFunction(const Napi::CallbackInfo& info);
Napi::Value AdoptListeningFunction(const Napi::CallbackInfo& info);
Napi::Value SendDescriptorsFunction(const Napi::CallbackInfo& info);
Napi::Value ReceiveDescriptorsFunction(const Napi::CallbackInfo& info);
Napi::Value PeerOfFunction(const Napi::CallbackInfo& info);

}  // namespace isthmus
