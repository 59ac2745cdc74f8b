// Owns the JavaScript callbacks of the native engine (NativeEngineHandlers in src/netns/native.ts) and turns each event into
// a call. Uses plain Node-API for speed. Runs on the thread of its environment.
#pragma once

#include <napi.h>
#include <netinet/in.h>

#include <cstddef>
#include <cstdint>

#include "engine/message.h"

namespace isthmus {

class EngineHandlers {
 public:
  EngineHandlers(napi_env env, const Napi::Object& handlers);
  EngineHandlers(const EngineHandlers&) = delete;
  EngineHandlers& operator=(const EngineHandlers&) = delete;

  void Deliver(const Event& event) const;
  void DeliverListenerGone(std::uint32_t listener) const;
  // Deletes the references; no call may follow. It needs a live environment, so the destructor cannot do it.
  void Release();

 private:
  void Call(napi_ref handler, std::size_t count, const napi_value* arguments) const;
  napi_value Number(double value) const;
  void PeerArguments(const sockaddr_in6& peer, napi_value* address, napi_value* port) const;

  napi_env env_;
  napi_ref question_ = nullptr;
  napi_ref dial_failed_ = nullptr;
  napi_ref ended_ = nullptr;
  napi_ref listener_gone_ = nullptr;
};

}  // namespace isthmus
