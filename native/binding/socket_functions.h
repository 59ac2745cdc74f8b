// The addon's functions on sockets that Node has no call for: options, queue bounds and TCP state.
#pragma once

#include <napi.h>

namespace isthmus {

Napi::Value SetUserTimeoutFunction(const Napi::CallbackInfo& info);
Napi::Value SetLingerFunction(const Napi::CallbackInfo& info);
Napi::Value BoundQueuesFunction(const Napi::CallbackInfo& info);
Napi::Value TcpStateFunction(const Napi::CallbackInfo& info);

}  // namespace isthmus
