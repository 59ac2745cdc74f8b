// The command from the client to the backend. It occupies the 32 random bytes of the ClientHello. The bytes on the wire are therefore
// a valid hello, every proxy forwards them, and one backend serves all scenarios.
#pragma once
#include <cstdint>
#include <cstring>

enum class Ask : uint8_t {
  Reply = 'R',      // send `size` bytes, then close after the client closes
  Echo = 'E',       // send one byte, then echo everything
  Download = 'D',   // send bytes without end
  Upload = 'U',     // send one byte, then discard everything
  Exchange = 'X',   // send `size` pattern bytes and FIN; digest the input; record how the connection ended
  AfterEnd = 'A',   // digest until the client's FIN, then send the digest, `size` pattern bytes and FIN
  Reset = 'T',      // send `size` bytes, then RST
  Report = 'Q',     // send the recorded ending of connection `id`
};

struct Command {
  char magic[4] = {'b', 'n', 'c', 'h'};
  Ask ask = Ask::Reply;
  uint8_t unused[3] = {};
  uint64_t size = 0;
  uint64_t id = 0;
  uint64_t zero = 0;
};
static_assert(sizeof(Command) == 32);

/** The backend's record of how a connection ended. */
struct Ending {
  uint64_t bytes = 0;
  uint64_t digest = 0;
  uint64_t how = 0;  // 0: not ended (or never seen), 1: FIN, 2: reset
};

constexpr int kRecordHeader = 5;
constexpr int kRandomInHandshake = 6;  // type, length (3), version (2)

inline uint64_t digest_step(uint64_t digest, const unsigned char* bytes, size_t length) {
  for (size_t i = 0; i < length; ++i) digest = (digest ^ bytes[i]) * 1099511628211ull;
  return digest;
}
constexpr uint64_t kDigestStart = 1469598103934665603ull;

/** The byte at `offset` of connection `id`'s pattern. The pattern has no period, so a lost or repeated block is always visible. */
inline unsigned char pattern(uint64_t id, uint64_t offset) {
  uint64_t x = (offset >> 3) * 0x9e3779b97f4a7c15ull + id * 0xbf58476d1ce4e5b9ull;
  x ^= x >> 31;
  return static_cast<unsigned char>(x >> ((offset & 7) * 8));
}
inline void fill_pattern(unsigned char* out, size_t length, uint64_t id, uint64_t offset) {
  for (size_t i = 0; i < length; ++i) out[i] = pattern(id, offset + i);
}
