#include "binding/engine_handlers.h"

#include <arpa/inet.h>

#include <cstring>
#include <iterator>
#include <utility>

namespace isthmus {

EngineHandlers::EngineHandlers(napi_env env, const Napi::Object& handlers) : env_(env) {
  napi_create_reference(env, handlers.Get("question"), 1, &question_);
  napi_create_reference(env, handlers.Get("dialFailed"), 1, &dial_failed_);
  napi_create_reference(env, handlers.Get("ended"), 1, &ended_);
  napi_create_reference(env, handlers.Get("listenerGone"), 1, &listener_gone_);
}

void EngineHandlers::Release() {
  for (napi_ref* reference : {&question_, &dial_failed_, &ended_, &listener_gone_}) {
    if (*reference != nullptr) napi_delete_reference(env_, std::exchange(*reference, nullptr));
  }
}

void EngineHandlers::Deliver(const Event& event) const {
  napi_value connection = Number(static_cast<double>(event.connection));
  switch (event.kind) {
    case Event::Kind::kQuestion: {
      napi_value arguments[7] = {connection, Number(event.listener)};
      PeerArguments(event.client, &arguments[2], &arguments[3]);
      arguments[4] = Number(event.slab_offset);
      arguments[5] = Number(event.length);
      std::size_t count = 6;
      if (event.slab_offset < 0 && event.length > 0) {
        napi_create_buffer_copy(env_, event.length, event.bytes, nullptr, &arguments[6]);
        count = 7;
      }
      return Call(question_, count, arguments);
    }
    case Event::Kind::kDialFailed: {
      napi_value error = nullptr;
      napi_create_string_utf8(env_, event.error.data(), event.error.size(), &error);
      const napi_value arguments[] = {connection,
                                      Number(event.listener),
                                      Number(event.tag),
                                      Number(event.candidate),
                                      error,
                                      Number(event.dial_ms)};
      return Call(dial_failed_, std::size(arguments), arguments);
    }
    case Event::Kind::kEnded: {
      napi_value arguments[11] = {connection, Number(event.listener)};
      PeerArguments(event.client, &arguments[2], &arguments[3]);
      arguments[4] = Number(static_cast<double>(event.outcome));
      arguments[5] = Number(event.candidate);
      arguments[6] = Number(event.dial_ms);
      arguments[7] = Number(event.bytes_from_client);
      arguments[8] = Number(event.bytes_from_backend);
      arguments[9] = Number(event.duration_ms);
      arguments[10] = Number(event.tag);
      return Call(ended_, std::size(arguments), arguments);
    }
    case Event::Kind::kListenerGone:
      return;  // the caller calls DeliverListenerGone() after the last event of the listener
  }
}

void EngineHandlers::DeliverListenerGone(std::uint32_t listener) const {
  const napi_value arguments[] = {Number(listener)};
  Call(listener_gone_, std::size(arguments), arguments);
}

void EngineHandlers::Call(napi_ref handler, std::size_t count, const napi_value* arguments) const {
  napi_value function = nullptr;
  napi_value receiver = nullptr;
  napi_get_reference_value(env_, handler, &function);
  napi_get_undefined(env_, &receiver);
  if (napi_call_function(env_, receiver, function, count, arguments, nullptr) != napi_pending_exception) return;
  // An exception here is a bug in JavaScript. Treat it like any uncaught exception.
  napi_value exception = nullptr;
  napi_get_and_clear_last_exception(env_, &exception);
  napi_fatal_exception(env_, exception);
}

napi_value EngineHandlers::Number(double value) const {
  napi_value number = nullptr;
  napi_create_double(env_, value, &number);
  return number;
}

// Passes an IPv4 address as a number, which JavaScript formats only on demand, and an IPv6 address as a string.
void EngineHandlers::PeerArguments(const sockaddr_in6& peer, napi_value* address, napi_value* port) const {
  if (peer.sin6_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    *address = Number(ntohl(v4.sin_addr.s_addr));
    *port = Number(ntohs(v4.sin_port));
    return;
  }
  *port = Number(ntohs(peer.sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr)) {
    std::uint32_t v4 = 0;
    std::memcpy(&v4, &peer.sin6_addr.s6_addr[12], sizeof v4);
    *address = Number(ntohl(v4));
    return;
  }
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET6, &peer.sin6_addr, text, sizeof text);
  napi_create_string_utf8(env_, text, NAPI_AUTO_LENGTH, address);
}

}  // namespace isthmus
