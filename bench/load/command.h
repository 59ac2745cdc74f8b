// What the client asks of the backend. It travels in the 32 random bytes of the ClientHello, so the bytes on the wire are those
// of a real hello, every proxy forwards them, and one backend serves all scenarios.
#pragma once
#include <cstdint>
#include <cstring>

enum class Ask : uint8_t {
  Reply = 'R',      // `size` bytes, then close when the client has closed
  Echo = 'E',       // one byte, then everything back
  Download = 'D',   // bytes without end
  Upload = 'U',     // one byte, then swallow everything
  Exchange = 'X',   // `size` pattern bytes and FIN; digest what comes; remember how it ended
  AfterEnd = 'A',   // digest until the client's FIN, then the digest and `size` pattern bytes back, and FIN
  Reset = 'T',      // `size` bytes, then RST
  Report = 'Q',     // what is remembered of connection `id`
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

/** What the backend remembers of a connection. */
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

/** The byte at `offset` of the pattern of connection `id`: no period that a lost or repeated block could hide in. */
inline unsigned char pattern(uint64_t id, uint64_t offset) {
  uint64_t x = (offset >> 3) * 0x9e3779b97f4a7c15ull + id * 0xbf58476d1ce4e5b9ull;
  x ^= x >> 31;
  return static_cast<unsigned char>(x >> ((offset & 7) * 8));
}
inline void fill_pattern(unsigned char* out, size_t length, uint64_t id, uint64_t offset) {
  for (size_t i = 0; i < length; ++i) out[i] = pattern(id, offset + i);
}
