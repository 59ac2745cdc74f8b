// The JavaScript class `Netns`: one open handle. It owns the descriptor; close() or the finaliser closes it.
#pragma once

#include <napi.h>

#include <memory>
#include <string>
#include <utility>

#include "sys/netns_handle.h"

namespace isthmus {

class NetnsObject {
 public:
  // The class for this environment, or nullptr with an exception pending.
  static napi_value DefineClass(napi_env env);

  // openNetns(path).
  static Napi::Value Open(const Napi::CallbackInfo& info);

 private:
  NetnsObject(NetnsHandle handle, std::string path) : handle_(std::move(handle)), path_(std::move(path)) {}

  static napi_value Wrap(napi_env env, napi_value netns_class, std::unique_ptr<NetnsObject> native);
  // The native side of `this`, or nullptr with a TypeError thrown.
  static NetnsObject* Unwrap(const Napi::CallbackInfo& info);

  static Napi::Value CreateTcpSocket(const Napi::CallbackInfo& info);
  static Napi::Value Close(const Napi::CallbackInfo& info);
  static Napi::Value Closed(const Napi::CallbackInfo& info);

  NetnsHandle handle_;
  std::string path_;
};

}  // namespace isthmus
