// The addon's plain functions on sockets: options that Node lacks.
#pragma once

#include <napi.h>

namespace isthmus {

Napi::Value SetUserTimeoutFunction(const Napi::CallbackInfo& info);
Napi::Value SetLingerFunction(const Napi::CallbackInfo& info);
Napi::Value BoundQueuesFunction(const Napi::CallbackInfo& info);
Napi::Value TcpStateFunction(const Napi::CallbackInfo& info);

}  // namespace isthmus
