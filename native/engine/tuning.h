// The engine's tuning constants. The values come from measurements.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus {

// The size of one read when the worker copies bytes through its own buffer.
constexpr std::uint32_t kScratchBytes = 64 * 1024;
// Splicing is faster for bulk only; small payloads are faster with recv and send. Splicing starts after kBigReadsToSplice reads in a row
// of at least kBigRead bytes. It ends after kSmallReadsToCopy smaller reads in a row.
constexpr std::uint32_t kBigRead = 16 * 1024;
constexpr std::uint8_t kBigReadsToSplice = 3;
constexpr std::uint8_t kSmallReadsToCopy = 8;
// The maximum of moves in one turn of a flow, so that one bulk transfer does not delay the other connections.
constexpr int kMovesPerTurn = 16;
constexpr int kMovesOfASplice = 2;
constexpr int kAcceptsPerTurn = 64;
constexpr int kMostTakenAtClose = 4096;  // a full queue: the backlog (ACCEPT_BACKLOG in native-engine.ts)
// How long a worker stops accepting from a listener: when it can neither accept nor reject clients, or when JavaScript is behind with
// events. The pause ends early when this worker closes a socket.
constexpr std::int64_t kAcceptPauseNs = 100'000'000;
// Before a reset, how often the worker checks whether the peer has acknowledged all bytes.
constexpr std::int64_t kFlushLookMs = 5;
// Reports of ended connections are sent in batches: after this delay or at this number, whichever comes first.
constexpr std::int64_t kReportDelayNs = 5'000'000;
constexpr std::size_t kMostHeldReports = 256;
// A peer that leaves this many probes of a closed window unanswered counts as dead.
constexpr int kProbesOfTheDead = 3;
// The most members of a pool that one connection tries.
constexpr int kMostTries = 64;
// For this time after a failed dial a member ranks behind the others. The health checks need less time to remove it.
constexpr std::int64_t kAvoidNs = 5'000'000'000;
// After this many lost races with other workers, an inexact result is accepted.
constexpr int kMostRaces = 16;
// Connections that workers may accept above the limit while other workers still evict for them.
constexpr int kMostEvictedAhead = 64;

}  // namespace isthmus
