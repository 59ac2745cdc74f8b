// Creates the object with plain Node-API. Napi::ObjectWrap leaks its C++ half, with the descriptor, when the worker is
// terminated between `new` and `napi_wrap`. Here a unique_ptr owns that half until Node takes it.
#include "binding/netns_object.h"

#include "binding/arguments.h"
#include "binding/environment.h"
#include "binding/throw.h"

namespace isthmus {
namespace {

// Distinguishes objects of this class from objects of other classes that wrap a pointer.
constexpr napi_type_tag kNetnsTag = {0x6a2f5d0c91e84b37, 0xb41c7e93d05f2a68};

template <Napi::Value (*method)(const Napi::CallbackInfo&)>
napi_value Callback(napi_env env, napi_callback_info info) {
  return method(Napi::CallbackInfo(env, info));
}

// `new handle.constructor()` creates an object without a native half. Each of its methods throws.
napi_value Constructor(napi_env env, napi_callback_info info) {
  napi_value self = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, &self, nullptr);
  return self;
}

napi_property_descriptor Constant(const char* name, napi_value value) {
  return {name, nullptr, nullptr, nullptr, nullptr, value, napi_enumerable, nullptr};
}

}  // namespace

napi_value NetnsObject::DefineClass(napi_env env) {
  const napi_property_descriptor properties[] = {
      {"createTcpSocket", nullptr, Callback<CreateTcpSocket>, nullptr, nullptr, nullptr, napi_default_method, nullptr},
      {"close", nullptr, Callback<Close>, nullptr, nullptr, nullptr, napi_default_method, nullptr},
      {"closed", nullptr, nullptr, Callback<Closed>, nullptr, nullptr, napi_enumerable, nullptr},
  };
  napi_value netns_class = nullptr;
  napi_define_class(env, "Netns", NAPI_AUTO_LENGTH, Constructor, nullptr, std::size(properties), properties, &netns_class);
  return netns_class;
}

Napi::Value NetnsObject::Open(const Napi::CallbackInfo& info) {
  const auto path = PathArgument(info, 0, "path");
  if (!path) return {};
  Environment& environment = Environment::Of(info.Env());
  auto home = environment.Home();
  if (!home.Ok()) return ThrowSysError(info.Env(), home.Error(), path->c_str());
  auto handle = NetnsHandle::Open(path->c_str(), *home.Value());
  if (!handle.Ok()) return ThrowSysError(info.Env(), handle.Error(), path->c_str());
  std::unique_ptr<NetnsObject> native(new NetnsObject(std::move(handle.Value()), *path));
  return {info.Env(), Wrap(info.Env(), environment.NetnsClass(), std::move(native))};
}

napi_value NetnsObject::Wrap(napi_env env, napi_value netns_class, std::unique_ptr<NetnsObject> native) {
  // These calls fail only while the environment shuts down. `native` then closes its descriptor on return.
  napi_value object = nullptr;
  napi_value identity = nullptr;
  napi_value path = nullptr;
  const std::string& name = native->handle_.Identity();
  if (netns_class == nullptr || napi_new_instance(env, netns_class, 0, nullptr, &object) != napi_ok ||
      napi_create_string_utf8(env, name.data(), name.size(), &identity) != napi_ok ||
      napi_create_string_utf8(env, native->path_.data(), native->path_.size(), &path) != napi_ok) {
    return nullptr;
  }
  const napi_property_descriptor properties[] = {Constant("identity", identity), Constant("path", path)};
  if (napi_define_properties(env, object, std::size(properties), properties) != napi_ok ||
      napi_type_tag_object(env, object, &kNetnsTag) != napi_ok) {
    return nullptr;
  }
  const auto finalize = [](napi_env, void* data, void*) { delete static_cast<NetnsObject*>(data); };
  if (napi_wrap(env, object, native.get(), finalize, nullptr, nullptr) != napi_ok) return nullptr;
  static_cast<void>(native.release());
  return object;
}

NetnsObject* NetnsObject::Unwrap(const Napi::CallbackInfo& info) {
  bool ours = false;
  void* native = nullptr;
  const Napi::Value self = info.This();
  if (self.IsObject() && napi_check_object_type_tag(info.Env(), self, &kNetnsTag, &ours) == napi_ok && ours &&
      napi_unwrap(info.Env(), self, &native) == napi_ok) {
    return static_cast<NetnsObject*>(native);
  }
  ThrowCoded(info.Env(), ErrorClass::kTypeError, "ERR_INVALID_THIS", "Value of \"this\" must be an open Netns");
  return nullptr;
}

Napi::Value NetnsObject::CreateTcpSocket(const Napi::CallbackInfo& info) {
  const NetnsObject* self = Unwrap(info);
  if (self == nullptr) return {};
  const double family = info[0].IsNumber() ? info[0].As<Napi::Number>().DoubleValue() : 0;
  if (family != 4 && family != 6) {
    return ThrowCoded(info.Env(), ErrorClass::kTypeError, "ERR_INVALID_ARG_VALUE",
                      "The \"family\" argument must be 4 or 6");
  }
  const char* path = self->path_.c_str();
  if (self->handle_.Closed()) {
    return ThrowCoded(info.Env(), ErrorClass::kError, "ERR_NETNS_CLOSED",
                      "The handle of network namespace '" + self->path_ + "' is closed", path);
  }
  auto home = Environment::Of(info.Env()).Home();
  if (!home.Ok()) return ThrowSysError(info.Env(), home.Error(), path);
  auto socket =
      self->handle_.CreateTcpSocket(*home.Value(), family == 4 ? AddressFamily::kIpv4 : AddressFamily::kIpv6);
  if (!socket.Ok()) return ThrowSysError(info.Env(), socket.Error(), path);
  napi_value fd = nullptr;
  if (napi_create_int32(info.Env(), socket.Value().Get(), &fd) != napi_ok) return {};
  static_cast<void>(socket.Value().Release());  // the caller owns it now
  return {info.Env(), fd};
}

Napi::Value NetnsObject::Close(const Napi::CallbackInfo& info) {
  if (NetnsObject* self = Unwrap(info)) self->handle_.Close();
  return {};
}

Napi::Value NetnsObject::Closed(const Napi::CallbackInfo& info) {
  const NetnsObject* self = Unwrap(info);
  if (self == nullptr) return {};
  return Napi::Boolean::New(info.Env(), self->handle_.Closed());
}

}  // namespace isthmus
