// The messages between the workers and the JavaScript thread: events up, commands down. They are plain values. Each direction is a queue
// behind a mutex. The receiver swaps out the entire queue, so one wake-up serves all its messages.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/listener_use.h"
#include "engine/outcome.h"
#include "engine/backends/pool.h"
#include "engine/backends/share.h"
#include "engine/backends/target.h"
#include "sys/unique_fd.h"

namespace isthmus {

enum class ListenerMode : std::uint8_t { kHello, kImmediate };

struct ListenerSocket {
  std::uint32_t id;
  ListenerUse* use;
  ListenerMode mode;
  bool shared;  // other processes may hold the socket too: the engine never shuts it down
  UniqueFd fd;
};

// Identifies a connection in C++ and JavaScript: worker, slot and generation in one integer that a JavaScript number holds exactly.
// The generation detects stale answers: when the connection has ended, the worker finds no match and drops the answer.
struct ConnectionId {
  static constexpr std::uint64_t kWorkerBits = 4;
  static constexpr std::uint64_t kSlotBits = 21;
  static constexpr std::uint64_t kGenerationBits = 28;  // 53 together

  std::uint32_t worker;
  std::uint32_t slot;
  std::uint32_t generation;

  std::uint64_t Packed() const {
    return (((std::uint64_t{generation} << kSlotBits) | slot) << kWorkerBits) | worker;
  }
  static ConnectionId Of(std::uint64_t packed) {
    return {static_cast<std::uint32_t>(packed & ((1u << kWorkerBits) - 1)),
            static_cast<std::uint32_t>((packed >> kWorkerBits) & ((1u << kSlotBits) - 1)),
            static_cast<std::uint32_t>(packed >> (kWorkerBits + kSlotBits))};
  }
};

struct Event {
  enum class Kind : std::uint8_t { kQuestion, kDialFailed, kEnded, kListenerGone } kind;
  Outcome outcome = Outcome::kFinished;   // ended
  std::uint32_t listener = 0;
  std::uint64_t connection = 0;
  sockaddr_in6 client{};                  // question, ended
  const char* bytes = nullptr;            // question: valid until the answer
  std::uint32_t length = 0;
  std::int32_t slab_offset = -1;
  std::int32_t candidate = -1;            // dial failed: the index that failed; ended: the connected index, or -1
  double dial_ms = 0;
  double duration_ms = 0;                 // ended
  double bytes_from_client = 0;
  double bytes_from_backend = 0;
  std::string error;                      // dial failed
  std::uint32_t tag = 0;                  // dial failed, ended: of the prepared answer; 0: none
  ListenerUse* use = nullptr;             // ended, listener gone: valid until Engine::Delivered()
  std::shared_ptr<const void> kept;       // ended: keeps the tag in use until JavaScript has this event
};

struct Answer {
  enum class Kind : std::uint8_t { kMore, kCandidates, kClose, kPolicyError } kind;
  std::uint32_t min_bytes = 0;                      // more
  std::uint32_t skip_bytes = 0;                     // candidates
  int share_limit = 0;                              // candidates: the most connections of the share, if there is a share
  std::string farewell;                             // candidates: the alert if none can be used; close: the alert, or empty
  std::shared_ptr<Share> share;
  std::uint32_t tag = 0;                            // identifies a prepared answer; 0: the answer to a question
  std::vector<std::shared_ptr<Target>> candidates;  // tried in order
  std::shared_ptr<const Pool> pool;                 // replaces `candidates`: least connections first

  const std::vector<std::shared_ptr<Target>>& Candidates() const { return pool ? pool->members : candidates; }
};

class PreparedTable;

struct Command {
  enum class Kind : std::uint8_t { kAnswer, kRemoveListener, kPrepare, kAdopt, kAbortDials, kEvict, kEvictLarge, kAbortAll, kStop } kind;
  ConnectionId connection{};                        // answer
  Answer answer{};
  std::shared_ptr<ListenerSocket> listener;         // remove, prepare, adopt
  std::shared_ptr<const PreparedTable> table;       // prepare
  UniqueFd client;                                  // adopt: a client accepted while the engine closes the listener
  Outcome outcome = Outcome::kStopped;              // abort all
  std::shared_ptr<const std::vector<LoadRef>> places;  // abort dials: the backends that are down
};

}  // namespace isthmus
