#include "binding/throw.h"

namespace isthmus {
namespace {

napi_value ToString(napi_env env, const std::string& text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text.data(), text.size(), &value);
  return value;
}

void Set(napi_env env, napi_value object, const char* name, napi_value value) {
  if (value != nullptr) napi_set_named_property(env, object, name, value);
}

void Throw(napi_env env, napi_value error) {
  if (error != nullptr) napi_throw(env, error);
}

}  // namespace

Napi::Value ThrowSysError(Napi::Env env, const SysError& error, const char* path) {
  if (error.path != nullptr) path = error.path;
  napi_value object = nullptr;
  napi_create_error(env, nullptr, ToString(env, MessageOf(error, path)), &object);
  if (object != nullptr) {
    napi_value number = nullptr;
    napi_create_int32(env, -error.error, &number);
    Set(env, object, "errno", number);
    Set(env, object, "code", ToString(env, CodeOf(error)));
    Set(env, object, "syscall", ToString(env, error.syscall));
    if (path != nullptr) Set(env, object, "path", ToString(env, path));
  }
  Throw(env, object);
  return {};
}

Napi::Value ThrowCoded(Napi::Env env, ErrorClass error_class, const char* code, const std::string& message,
                       const char* path) {
  const auto create = error_class == ErrorClass::kTypeError    ? napi_create_type_error
                      : error_class == ErrorClass::kRangeError ? napi_create_range_error
                                                               : napi_create_error;
  napi_value object = nullptr;
  create(env, ToString(env, code), ToString(env, message), &object);
  if (object != nullptr && path != nullptr) Set(env, object, "path", ToString(env, path));
  Throw(env, object);
  return {};
}

}  // namespace isthmus
