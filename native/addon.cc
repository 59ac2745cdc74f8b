// Registers the exports that src/netns/native.ts declares. Runs once per environment, on the thread of that environment.
#include <malloc.h>
#include <napi.h>

#include "binding/engine_object.h"
#include "binding/environment.h"
#include "binding/netns_object.h"
#include "binding/prober_object.h"
#include "binding/service_functions.h"
#include "binding/socket_functions.h"
#include "binding/throw.h"
#include "sys/netns_scope.h"

namespace isthmus {
namespace {

Napi::Value OwnIdentityFunction(const Napi::CallbackInfo& info) {
  auto home = Environment::Of(info.Env()).Home();
  if (!home.Ok()) return ThrowSysError(info.Env(), home.Error(), nullptr);
  auto identity = OwnIdentity(*home.Value());
  if (!identity.Ok()) return ThrowSysError(info.Env(), identity.Error(), nullptr);
  return Napi::String::New(info.Env(), identity.Value());
}

Napi::Value ReleaseFreeMemory(const Napi::CallbackInfo&) {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
  return {};
}

Napi::Object Register(Napi::Env env, Napi::Object exports) {
  const napi_value netns_class = NetnsObject::DefineClass(env);
  napi_ref reference = nullptr;
  if (netns_class == nullptr || napi_create_reference(env, netns_class, 1, &reference) != napi_ok) return exports;
  env.SetInstanceData(new Environment(env, reference));

  exports.DefineProperties({
      Napi::PropertyDescriptor::Function(env, exports, "openNetns", NetnsObject::Open, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "ownIdentity", OwnIdentityFunction, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "setUserTimeout", SetUserTimeoutFunction, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "setLinger", SetLingerFunction, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "boundQueues", BoundQueuesFunction, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "tcpState", TcpStateFunction, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "releaseFreeMemory", ReleaseFreeMemory, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "notify", NotifyFunction, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "adoptListening", AdoptListeningFunction, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "sendDescriptors", SendDescriptorsFunction, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "receiveDescriptors", ReceiveDescriptorsFunction, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "peerOf", PeerOfFunction, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "createEngine", CreateEngine, napi_enumerable),
      Napi::PropertyDescriptor::Function(env, exports, "createProber", CreateProber, napi_enumerable),
  });
  return exports;
}

}  // namespace
}  // namespace isthmus

static Napi::Object RegisterAddon(Napi::Env env, Napi::Object exports) { return isthmus::Register(env, exports); }

NODE_API_MODULE(linux_netns, RegisterAddon)
