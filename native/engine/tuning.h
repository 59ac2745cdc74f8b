// Numbers that were measured, in one place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus {

// Read at once into the worker's own buffer when bytes are copied.
constexpr std::uint32_t kScratchBytes = 64 * 1024;
// Splicing pays for bulk only: it starts after so many reads in a row of at least so many bytes, and ends after so many
// smaller ones (small payloads are faster by recv and send).
constexpr std::uint32_t kBigRead = 16 * 1024;
constexpr std::uint8_t kBigReadsToSplice = 3;
constexpr std::uint8_t kSmallReadsToCopy = 8;
// Moves per connection and turn: one bulk transfer must not keep the others waiting.
constexpr int kMovesPerTurn = 16;
constexpr int kMovesOfASplice = 2;
constexpr int kAcceptsPerTurn = 64;
constexpr int kMostTakenAtClose = 4096;  // a whole queue: our backlog
// For so long nobody is taken from a queue whose clients can be neither taken nor refused, or while too much waits for JavaScript, unless
// a descriptor of ours comes free.
constexpr std::int64_t kAcceptPauseNs = 100'000'000;
// How often a side that is to be reset is looked at for bytes that are still on their way to it.
constexpr std::int64_t kFlushLookMs = 5;
// Reports of ended connections wait for company, this long or until there are so many.
constexpr std::int64_t kReportDelayNs = 5'000'000;
constexpr std::size_t kMostHeldReports = 256;
// So many probes of a closed window go unanswered only if nobody is there.
constexpr int kProbesOfTheDead = 3;
// Of a pool one connection tries so many; and one that has failed is tried after the others for so long: the health checks have taken
// it out by then.
constexpr int kMostTries = 64;
constexpr std::int64_t kAvoidNs = 5'000'000'000;
// When other workers were faster so often, it need not be exact any more.
constexpr int kMostRaces = 16;
// Connections that a worker may accept while other workers are still evicting for them.
constexpr int kMostEvictedAhead = 64;

}  // namespace isthmus
