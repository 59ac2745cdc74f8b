#include "engine/plain_hello.h"

#include <cstddef>

namespace isthmus {
namespace {

using Kind = PlainHello::Kind;

constexpr std::uint32_t kHandshake = 22;
constexpr std::uint32_t kMajorVersion = 3;
constexpr std::uint32_t kClientHello = 1;
constexpr std::uint32_t kTls10 = 0x0301;
constexpr std::uint32_t kTls12 = 0x0303;  // TLS 1.3 sends this value too (RFC 8446, 4.1.2)
constexpr std::uint32_t kMostRecordBytes = 1 << 14;
constexpr std::size_t kRecordHeaderBytes = 5;
constexpr std::uint32_t kMessageHeaderBytes = 4;
constexpr std::uint32_t kLeastBodyBytes = 2 + 32 + 1 + 4 + 2;
constexpr std::uint32_t kRandomBytes = 32;
constexpr std::uint32_t kMostSessionIdBytes = 32;
constexpr std::uint32_t kServerName = 0;
constexpr std::uint32_t kHostName = 0;
constexpr std::size_t kMostNameBytes = 253;
constexpr std::size_t kMostLabelBytes = 63;

// The reader's position. Each step returns whether to continue. When it returns false, `kind` is the result.
struct Reading {
  std::string_view bytes;
  std::size_t at = 0;
  std::size_t end = kRecordHeaderBytes;  // of the structure that contains the next field
  Kind kind = Kind::kNo;
  std::uint32_t value = 0;               // the last number read

  std::size_t Left() const { return end - at; }

  // The only bounds check. It compares first with the enclosing structure, then with the bytes that have arrived.
  bool Has(std::size_t count) {
    kind = count > Left() ? Kind::kNo : Kind::kIncomplete;
    return count <= Left() && count <= bytes.size() - (at < bytes.size() ? at : bytes.size());
  }
  bool Number(std::size_t count) {
    if (!Has(count)) return false;
    value = 0;
    for (std::size_t i = 0; i < count; i += 1) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    at += count;
    kind = Kind::kNo;  // the result if the caller rejects the value
    return true;
  }
  // Skips values that only the backend needs. They need not have arrived yet.
  bool Skip(std::size_t count) {
    kind = Kind::kNo;
    if (count > Left()) return false;
    at += count;
    return true;
  }
};

// Labels of lower-case letters, digits, '-' and '_'. At least one letter is required, because a name without letters could
// be an IPv4 address.
bool IsPlainName(std::string_view name) {
  std::size_t label = 0;
  bool letter = false;
  for (const char c : name) {
    if (c == '.') {
      if (label == 0) return false;
      label = 0;
      continue;
    }
    const bool is_letter = c >= 'a' && c <= 'z';
    if (!is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '_') return false;
    letter = letter || is_letter;
    label += 1;
    if (label > kMostLabelBytes) return false;
  }
  return letter && label > 0;
}

// One record, filled by one ClientHello.
bool ReadHeaders(Reading& in) {
  if (!in.Number(1) || in.value != kHandshake) return false;
  // Reads one byte at a time. If the parser can already reject the hello, this reader must not wait for more bytes.
  if (!in.Number(1) || in.value != kMajorVersion) return false;
  if (!in.Number(1) || in.value < 1 || in.value > 3) return false;
  if (!in.Number(2) || in.value < kMessageHeaderBytes + kLeastBodyBytes || in.value > kMostRecordBytes) return false;
  const std::uint32_t record = in.value;
  in.end = kRecordHeaderBytes + record;
  if (in.bytes.size() > in.end) return false;
  if (!in.Number(1) || in.value != kClientHello) return false;
  return in.Number(3) && in.value == record - kMessageHeaderBytes;
}

bool ReadFixedFields(Reading& in) {
  if (!in.Number(2) || in.value < kTls10 || in.value > kTls12) return false;
  if (!in.Skip(kRandomBytes)) return false;
  if (!in.Number(1) || in.value > kMostSessionIdBytes || !in.Skip(in.value)) return false;
  if (!in.Number(2) || in.value == 0 || in.value % 2 != 0 || !in.Skip(in.value)) return false;
  // The client offers only the null compression method.
  if (!in.Number(1) || in.value != 1) return false;
  if (!in.Number(1) || in.value != 0) return false;
  return in.Number(2) && in.value == in.Left();
}

// A server name list with exactly one entry.
bool ReadServerName(Reading& in, std::size_t length, std::string_view& name) {
  if (!in.Number(2) || in.value + 2 != length) return false;
  if (!in.Number(1) || in.value != kHostName) return false;
  if (!in.Number(2) || in.value + 5 != length || in.value > kMostNameBytes) return false;
  const std::size_t count = in.value;
  if (!in.Has(count)) return false;
  name = in.bytes.substr(in.at, count);
  in.at += count;
  in.kind = Kind::kNo;
  return IsPlainName(name);
}

bool ReadExtensions(Reading& in, std::string_view& name) {
  const std::size_t end = in.end;
  while (in.at < end) {
    if (!in.Number(4)) return false;
    const std::uint32_t type = in.value >> 16;
    const std::size_t length = in.value & 0xffff;
    if (length > in.Left()) return false;
    if (type != kServerName) {
      in.at += length;
      continue;
    }
    if (!name.empty()) return false;
    in.end = in.at + length;
    if (!ReadServerName(in, length, name)) return false;
    in.end = end;
  }
  in.kind = in.bytes.size() < end ? Kind::kIncomplete : Kind::kNo;
  return in.bytes.size() == end && !name.empty();
}

}  // namespace

PlainHello ReadPlainHello(std::string_view bytes) {
  Reading in{bytes};
  std::string_view name;
  if (ReadHeaders(in) && ReadFixedFields(in) && ReadExtensions(in, name)) return {Kind::kName, name};
  return {in.kind, {}};
}

}  // namespace isthmus
