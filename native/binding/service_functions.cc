#include "binding/service_functions.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "binding/arguments.h"
#include "binding/throw.h"
#include "sys/descriptor_passing.h"
#include "sys/listening_socket.h"
#include "sys/notify_datagram.h"

namespace isthmus {
namespace {

constexpr std::size_t kMostBytes = 64 * 1024;

}  // namespace

Napi::Value NotifyFunction(const Napi::CallbackInfo& info) {
  const auto address = PathArgument(info, 0, "address");
  if (!address) return {};
  const auto text = PathArgument(info, 1, "text");
  if (!text) return {};
  if (const auto error = SendNotification(*address, *text)) return ThrowSysError(info.Env(), *error, address->c_str());
  return {};
}

Napi::Value AdoptListeningFunction(const Napi::CallbackInfo& info) {
  const auto fd = IntArgument(info, 0, "fd");
  if (!fd) return {};
  auto bound = AdoptListening(*fd);
  if (!bound.Ok()) return ThrowSysError(info.Env(), bound.Error(), nullptr);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("address", bound.Value().address);
  result.Set("port", bound.Value().port);
  return result;
}

// (socket, text, ...descriptors)
Napi::Value SendDescriptorsFunction(const Napi::CallbackInfo& info) {
  const auto socket = IntArgument(info, 0, "socket");
  if (!socket) return {};
  const auto text = PathArgument(info, 1, "text");
  if (!text) return {};
  std::vector<int> descriptors;
  for (std::size_t i = 2; i < info.Length(); i += 1) {
    const auto fd = IntArgument(info, i, "fd");
    if (!fd) return {};
    descriptors.push_back(*fd);
  }
  auto sent = SendDescriptors(*socket, *text, descriptors);
  if (!sent.Ok()) return ThrowSysError(info.Env(), sent.Error(), nullptr);
  return Napi::Number::New(info.Env(), static_cast<double>(sent.Value()));
}

Napi::Value ReceiveDescriptorsFunction(const Napi::CallbackInfo& info) {
  const auto socket = IntArgument(info, 0, "socket");
  if (!socket) return {};
  auto received = ReceiveDescriptors(*socket, kMostBytes);
  if (!received.Ok()) {
    if (received.Error().error == EAGAIN || received.Error().error == EWOULDBLOCK) return info.Env().Null();
    return ThrowSysError(info.Env(), received.Error(), nullptr);
  }
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("bytes", Napi::Buffer<char>::Copy(info.Env(), received.Value().bytes.data(), received.Value().bytes.size()));
  Napi::Array descriptors = Napi::Array::New(info.Env());
  for (UniqueFd& fd : received.Value().descriptors) descriptors.Set(descriptors.Length(), fd.Release());
  result.Set("descriptors", descriptors);
  return result;
}

Napi::Value PeerOfFunction(const Napi::CallbackInfo& info) {
  const auto socket = IntArgument(info, 0, "socket");
  if (!socket) return {};
  auto peer = PeerOf(*socket);
  if (!peer.Ok()) return ThrowSysError(info.Env(), peer.Error(), nullptr);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("pid", peer.Value().pid);
  result.Set("uid", peer.Value().uid);
  return result;
}

}  // namespace isthmus
