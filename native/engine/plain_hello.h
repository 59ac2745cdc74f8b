// Reads the server name of a plain hello: one TLS record with one ClientHello, consistent lengths, one server_name with one lower-case
// name. Nearly all hellos are plain. This reader exists only for speed: a question to JavaScript costs more than all other work for a new
// connection.
#pragma once

#include <cstdint>
#include <string_view>

namespace isthmus {

struct PlainHello {
  enum class Kind : std::uint8_t {
    kNo,
    kIncomplete,  // valid so far; the parser in JavaScript would wait for more bytes too
    kName,
  } kind = Kind::kNo;
  std::string_view name;  // points into the given bytes
};

// `bytes` are all bytes that have arrived. The reader makes one pass and never reads past the end.
// src/tls/client-hello.ts is the reference: for the same bytes this reader must never contradict it
// (test/netns/addon-plain-hello.test.ts compares them). Anything unusual gives kNo, and the worker asks JavaScript.
PlainHello ReadPlainHello(std::string_view bytes);

}  // namespace isthmus
