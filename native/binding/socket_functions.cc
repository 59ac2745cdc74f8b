#include "binding/socket_functions.h"

#include <optional>

#include "binding/arguments.h"
#include "binding/throw.h"
#include "engine/socket/queue_bounds.h"
#include "sys/socket_options.h"
#include "sys/tcp_state.h"

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

Napi::Value BoundQueuesFunction(const Napi::CallbackInfo& info) {
  const auto from = IntArgument(info, 0, "from");
  if (!from) return {};
  const auto to = IntArgument(info, 1, "to");
  if (!to) return {};
  BoundQueues(*from, *to, kLargeSegmentReceiveBytes);
  return {};
}

Napi::Value TcpStateFunction(const Napi::CallbackInfo& info) {
  const auto fd = IntArgument(info, 0, "fd");
  if (!fd) return {};
  const auto state = StateOfTcp(*fd);
  if (!state) return info.Env().Null();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("closed", state->closed);
  result.Set("windowClosed", state->window_closed);
  result.Set("lastAckMs", state->last_ack_ms);
  result.Set("probes", state->probes);
  result.Set("queuedBytes", state->queued_bytes);
  return result;
}

}  // namespace isthmus
