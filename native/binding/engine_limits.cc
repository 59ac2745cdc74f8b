#include "binding/engine_limits.h"

namespace isthmus {
namespace {

// About 12 MB of events: several seconds at the highest event rate.
constexpr std::size_t kMostWaitingEvents = 65'536;

}  // namespace

EngineLimits EngineLimitsFrom(const Napi::Object& given, int threads) {
  const auto field = [&](const char* name) { return given.Get(name).ToNumber().DoubleValue(); };
  return {
      .max_connections = static_cast<int>(field("maxConnections")),
      .max_pending_dials = static_cast<int>(field("maxPendingDials")),
      .max_pending_dials_per_backend = static_cast<int>(field("maxPendingDialsPerBackend")),
      .reserved_dials_per_backend = static_cast<int>(field("reservedDialsPerBackend")),
      .hello_timeout_ms = static_cast<std::int64_t>(field("helloTimeoutMs")),
      .max_hello_bytes = static_cast<std::uint32_t>(field("maxHelloBytes")),
      .max_hello_memory_bytes = static_cast<std::size_t>(field("maxHelloMemoryBytes")),
      .connect_timeout_ms = static_cast<std::int64_t>(field("connectTimeoutMs")),
      .dead_peer_timeout_ms = static_cast<int>(field("deadPeerTimeoutMs")),
      .linger_ms = static_cast<std::int64_t>(field("lingerMs")),
      .max_netns_handles = static_cast<int>(field("maxNetnsHandles")),
      .max_pipes = static_cast<std::size_t>(field("maxPipes") / threads),
      .max_waiting_events = kMostWaitingEvents,
  };
}

}  // namespace isthmus
