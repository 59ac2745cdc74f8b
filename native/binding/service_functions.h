// The addon's functions for supervised operation: notify the supervisor, adopt listening sockets, hand over descriptors.
#pragma once

#include <napi.h>

namespace isthmus {

Napi::Value NotifyFunction(const Napi::CallbackInfo& info);
Napi::Value AdoptListeningFunction(const Napi::CallbackInfo& info);
Napi::Value SendDescriptorsFunction(const Napi::CallbackInfo& info);
Napi::Value ReceiveDescriptorsFunction(const Napi::CallbackInfo& info);
Napi::Value PeerOfFunction(const Napi::CallbackInfo& info);

}  // namespace isthmus
