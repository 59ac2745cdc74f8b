// The record of one connection. Only the worker that owns the record reads and writes it.
//
// The table lists every state and the effect of each event. A cell with "–" cannot happen. The programs in native/test reach all other
// cells, and test/netns/addon-engine.test.ts compares the cells they reach with this table. FIN is a half-close. A reset is any error
// that ends the socket (EPOLLERR).
//
// | state      | client ready | client FIN | client reset | backend ready | backend FIN | backend reset | deadline | answer | abort |
// | ---------- | ------------ | ---------- | ------------ | ------------- | ----------- | ------------- | -------- | ------ | ----- |
// | Hello      | collect; enough → Asking, or by a prepared answer → Connecting or Closing | → End client-left | → End client-left | – | – | – | → End hello-timeout | ignored | → End |
// | Asking     | not read yet | not read yet | the next read or send notices it | – | – | – | noted: the answer "more" then ends the connection | more → Hello; candidates → Connecting; close → Closing; error → End; aborted → End | closes the socket; → End by the answer |
// | Connecting | not read yet | not read yet | → End client-left | replay → Relaying | replay → Relaying, which reads it | next candidate, or Closing | next candidate, or Closing | ignored | → End |
// | Relaying   | pump | flows on, then FIN; both → End finished | its bytes flow on, then → Resetting or End | pump | like the client's | like the client's | only after a reset: → End | ignored | → End |
// | Closing    | sends the rest of the alert and FIN; reads and discards | → End | → End | – | – | – | → End | ignored | → End |
// | Resetting  | not read | not read | the deadline notices it | not read | not read | not read | all bytes acknowledged, peer gone, or linger over → End | ignored | → End |
// | Dead       | ignored | ignored | ignored | ignored | ignored | ignored | – | – | – |
//
// Under pressure the worker evicts connections in Hello or Closing (evict.cc): → End, with a reset, like an abort.
//
// A dead record stays allocated until the current batch of events is done, because later events of the batch may point at it. Its slot
// is free at once. The next connection in that slot gets another generation.
// An abort in Asking closes the socket at once. The record stays until the answer arrives, because JavaScript may be reading its bytes.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/resources/hello_pool.h"
#include "engine/message.h"
#include "engine/resources/source_queue.h"
#include "engine/resources/timer_list.h"

namespace isthmus {

// The rows and the columns of the table.
enum class State : std::uint8_t { kHello, kAsking, kConnecting, kRelaying, kClosing, kResetting, kDead };
enum class Trigger : std::uint8_t {
  kClientReady,
  kClientFin,
  kClientReset,
  kBackendReady,
  kBackendFin,
  kBackendReset,
  kDeadline,
  kAnswer,
  kAbort,
};

struct Connection;

// One of the two sockets; epoll's user data points here.
struct Side {
  Connection* connection = nullptr;
  int fd = -1;
  std::uint32_t armed = 0;   // the events that epoll watches
  bool readable = true;      // false: the socket has nothing to read; edge-triggered epoll reports only new data
  bool kept_alive = true;    // the keepalive options are set; a backend gets them only after some time, see CheckPeer()
  bool hang_up = false;      // RDHUP, HUP or urgent data seen: a short read no longer means drained
  bool urgent = false;       // a read stops at an urgent byte, and a splice never gets past it
  std::uint8_t error = 0;    // errno of a failed send: the kernel reports it once, so it is kept until Flush() handles it
  bool slow = false;         // the window is closed: TCP_USER_TIMEOUT is off, otherwise the kernel would declare the peer dead
};

// How much the kernel may queue for a flow (queue_bounds.h). The number of wide flows is limited.
enum class Queues : std::uint8_t { kUnbounded, kNarrow, kWide, kLargeSegments };

// Bytes on their way from one side to the other.
struct Flow {
  std::uint64_t bytes = 0;
  char* spill = nullptr;           // bytes that were read and that the sink has not accepted yet; allocated on demand
  std::uint32_t spill_begin = 0;
  std::uint32_t spill_end = 0;
  int pipe[2] = {-1, -1};
  std::uint32_t in_pipe = 0;
  std::uint8_t streak = 0;         // big reads in a row; while splicing, small reads in a row
  bool splicing = false;
  Queues queues = Queues::kUnbounded;
  bool was_bulk = false;           // a big read since the last check for dead peers
  bool ended = false;              // nothing more can be read from the source: FIN, or an error
  bool closed = false;             // nothing more goes to the sink

  bool Pending() const { return spill_begin < spill_end || in_pipe > 0; }
};

// State that a connection needs only until a backend is connected.
struct Dial {
  std::shared_ptr<const Answer> answer;
  std::size_t next = 0;
  bool tried = false;         // true: at least one candidate was dialled
  std::int64_t started_ns = 0;
  Target* pending = nullptr;  // the target whose pending_dials counts this dial
  std::unique_ptr<Choice> choice;  // only with a pool
};

// The places of a connection in the eviction queues. Freed when the connection leaves Hello or Closing.
struct Unserved {
  explicit Unserved(Connection& connection) : any(connection), large(connection) {}

  SourcePlace any;    // every connection in Hello or Closing
  SourcePlace large;  // those whose hello uses the shared hello memory
};

struct Connection {
  ConnectionId id{};
  State state = State::kHello;
  bool aborted = false;       // the connection ends with `abort_outcome`, whatever the answer is
  Outcome abort_outcome = Outcome::kStopped;
  Outcome final_outcome = Outcome::kClosed;  // the outcome in Closing, and after a reset
  bool broken = false;        // one side was reset: its remaining bytes still flow, then the other side gets a reset too
  bool in_backlog = false;    // has more to do in the next turn: it is in the worker's backlog
  bool in_common_slot = false;  // false: in a slot that is reserved for the group of its share
  bool asked = false;         // JavaScript was asked once: prepared answers no longer apply
  std::int32_t connected = -1;
  float dial_ms = 0;
  std::uint32_t min_bytes = 1;
  ListenerUse* listener = nullptr;  // this connection counts as one of its users
  std::int64_t accepted_ns = 0;
  std::int64_t reset_by_ns = 0;  // broken: the deadline of the reset
  sockaddr_in6 peer{};
  Side client;
  Side backend;
  Flow up;    // client to backend
  Flow down;  // backend to client
  HelloBuffer hello;
  TimerNode timer;
  std::unique_ptr<Unserved> unserved;
  std::unique_ptr<Dial> dial;
  std::uint32_t tag = 0;         // of the prepared answer; 0: none
  std::shared_ptr<Share> share;  // counts this connection; with a tag it also keeps the prepared answer alive, even without a share
  LoadRef load;                  // of the backend chosen from a pool; counts this connection
};

}  // namespace isthmus
