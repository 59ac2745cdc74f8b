#include "binding/socket_functions.h"

#include <optional>

#include "binding/arguments.h"
#include "binding/throw.h"
#include "sys/socket_options.h"

namespace isthmus {
namespace {

Napi::Value Finish(const Napi::CallbackInfo& info, const std::optional<SysError>& error) {
  if (error) return ThrowSysError(info.Env(), *error, nullptr);
  return {};
}

}  // namespace

Napi::Value SetUserTimeoutFunction(const Napi::CallbackInfo& info) {
  const auto fd = IntArgument(info, 0, "fd");
  if (!fd) return {};
  const auto milliseconds = IntArgument(info, 1, "milliseconds");
  if (!milliseconds) return {};
  return Finish(info, SetUserTimeout(*fd, *milliseconds));
}

Napi::Value SetLingerFunction(const Napi::CallbackInfo& info) {
  const auto fd = IntArgument(info, 0, "fd");
  if (!fd) return {};
  if (info[1].IsNull()) return Finish(info, SetLinger(*fd, std::nullopt));
  const auto seconds = IntArgument(info, 1, "seconds");
  if (!seconds) return {};
  return Finish(info, SetLinger(*fd, *seconds));
}

Napi::Value SetQuickAckFunction(const Napi::CallbackInfo& info) {
  const auto fd = IntArgument(info, 0, "fd");
  if (!fd) return {};
  const auto on = BoolArgument(info, 1, "on");
  if (!on) return {};
  return Finish(info, SetQuickAck(*fd, *on));
}

}  // namespace isthmus
