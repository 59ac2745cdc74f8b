// The record of one connection. It belongs to one worker, which alone reads and writes it.
//
// Every state, and what each event does in it. "–" cannot happen; native/test walks all the others, and test/netns/addon-engine.test.ts
// compares what it saw with this table. FIN is a half-close; a reset is any death of the socket (EPOLLERR).
//
// | state      | client ready | client FIN | client reset | backend ready | backend FIN | backend reset | deadline | answer | abort |
// | ---------- | ------------ | ---------- | ------------ | ------------- | ----------- | ------------- | -------- | ------ | ----- |
// | Hello      | collect; enough → Asking, or by a prepared answer → Connecting or Parting | → End client-left | → End client-left | – | – | – | → End hello-timeout | ignored | → End |
// | Asking     | left in the kernel | left there | left there: the next read or send finds it | – | – | – | noted: "more" comes too late | more → Hello; candidates → Connecting; part → Parting; error → End; aborted → End | closes the socket; → End by the answer |
// | Connecting | left in the kernel | left there | → End client-left | replay → Relaying | replay → Relaying, which reads it | next candidate, or Parting | next candidate, or Parting | ignored | → End |
// | Relaying   | pump | flows on, then FIN; both → End finished | what it said flows on, then → Resetting or End | pump | as the client's | as the client's | broken only: linger is over → End | ignored | → End |
// | Parting    | rest of the alert, FIN; read and discard | → End | → End | – | – | – | → End | ignored | → End |
// | Resetting  | left in the kernel | left there | the deadline finds it | left in the kernel | left there | left there | all is sent, peer gone, or linger over → End | ignored | → End |
// | Dead       | ignored | ignored | ignored | ignored | ignored | ignored | – | – | – |
//
// Under pressure a connection in Hello or Parting is evicted (evict.cc): → End, as by an abort.
//
// A dead record is freed after the batch of events in which it died: later events of that batch may point at it. Its slot is free
// at once, and gets another generation.
// A connection aborted while JavaScript decides (Asking) closes its socket at once and lives on as a record until the answer
// comes: JavaScript may be reading its bytes.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/hello_pool.h"
#include "engine/message.h"
#include "engine/source_queue.h"
#include "engine/timer_list.h"

namespace isthmus {

// The rows and the columns of the table.
enum class State : std::uint8_t { kHello, kAsking, kConnecting, kRelaying, kParting, kResetting, kDead };
enum class Happening : std::uint8_t {
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
  std::uint32_t armed = 0;   // what epoll watches
  bool readable = true;      // not known to be drained: edge-triggered, epoll tells only what is new
  bool kept_alive = true;    // has its keepalive options; a backend gets them when it has lived for a while
  bool hang_up = false;      // RDHUP, HUP or urgent data seen: a short read no longer means drained
  bool urgent = false;       // a read stops at an urgent byte, and a splice never gets past it
  std::uint8_t error = 0;    // a send met it: told once by the kernel, and kept until it is dealt with
  bool slow = false;         // its window is closed: TCP_USER_TIMEOUT is off, or the kernel would take it for dead
};

// What the kernel may hold for a flow (queue_bounds.h). Wide ones are counted.
enum class Queues : std::uint8_t { kUnbounded, kNarrow, kWide, kLargeSegments };

// Bytes on their way from one side to the other.
struct Flow {
  std::uint64_t bytes = 0;
  char* spill = nullptr;           // read, but not yet taken by the sink; allocated only then
  std::uint32_t spill_begin = 0;
  std::uint32_t spill_end = 0;
  int pipe[2] = {-1, -1};
  std::uint32_t in_pipe = 0;
  std::uint8_t streak = 0;         // big reads in a row; while splicing, small ones
  bool splicing = false;
  Queues queues = Queues::kUnbounded;
  bool ended = false;              // the source said FIN
  bool closed = false;             // and so did we to the sink

  bool Pending() const { return spill_begin < spill_end || in_pipe > 0; }
};

// What is needed only until a backend is connected.
struct Dial {
  std::shared_ptr<const Answer> answer;
  std::size_t next = 0;
  bool tried = false;         // at least one; else all were refused by a bound of ours
  std::int64_t started_ns = 0;
  Target* pending = nullptr;  // counted among its pending dials
  std::unique_ptr<Choice> choice;  // among equals
};

// Where a connection stands among those that are not served yet; freed once it is.
struct Unserved {
  explicit Unserved(Connection& connection) : any(connection), large(connection) {}

  SourcePlace any;    // in its hello, or being sent away
  SourcePlace large;  // its hello holds memory that all share
};

struct Connection {
  ConnectionId id{};
  State state = State::kHello;
  bool aborted = false;       // ends with `abort_outcome` whatever the answer
  Outcome abort_outcome = Outcome::kStopped;
  Outcome parting = Outcome::kClosed;  // how it ends, once that is decided
  bool broken = false;        // one side is gone by a reset; what it had said still flows, then the other is reset too
  bool in_backlog = false;    // its turn was cut short; it is in the worker's list to go on
  bool in_common_slot = false;  // else in one that is kept for the group of its share
  bool asked = false;         // JavaScript knows of it: from then on it alone decides
  std::int32_t connected = -1;
  float dial_ms = 0;
  std::uint32_t min_bytes = 1;
  ListenerUse* listener = nullptr;  // it is one of its users
  std::int64_t accepted_ns = 0;
  std::int64_t reset_by_ns = 0;  // resetting: not later than that
  sockaddr_in6 peer{};
  Side client;
  Side backend;
  Flow up;    // client to backend
  Flow down;  // backend to client
  HelloBuffer hello;
  TimerNode timer;
  std::unique_ptr<Unserved> unserved;
  std::unique_ptr<Dial> dial;
  std::uint32_t tag = 0;         // of the prepared answer, if it was one
  std::shared_ptr<Share> share;  // counted among its connections; with a tag it also keeps the prepared answer, share or not
  LoadRef load;                  // of a backend that was chosen among equals, and counts it
};

}  // namespace isthmus
