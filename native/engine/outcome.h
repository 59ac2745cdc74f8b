// How a connection ended. The order must match src/proxy/native/outcomes.ts.
#pragma once

#include <cstdint>

namespace isthmus {

enum class Outcome : std::uint8_t {
  kFinished,
  kClientReset,
  kBackendReset,
  kClientTimeout,
  kBackendTimeout,
  kAlertSent,
  kClosed,
  kClientLeft,
  kHelloTimeout,
  kHelloTooLarge,
  kEvictedHello,
  kDialFailed,
  kRefusedConnections,
  kRefusedDescriptors,
  kRefusedDials,
  kRefusedHelloMemory,
  kRefusedShare,
  kRefusedSlots,
  kPolicyError,
  kDrainExpired,
  kStopped,
};

}  // namespace isthmus
