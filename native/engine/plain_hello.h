// The server name of a hello that is as plain as hellos nearly always are: one TLS record with one ClientHello in it, every length
// adding up, one server_name with one lower-case name. It exists for speed alone: to ask JavaScript costs more than all else that
// is done for a new connection. src/tls/client-hello.ts is the judge. This may only ever say what that says of the same bytes
// (test/netns/addon-plain-hello.test.ts holds them together); whatever is unusual in any way is kNo, and JavaScript is asked.
#pragma once

#include <cstdint>
#include <string_view>

namespace isthmus {

struct PlainHello {
  enum class Kind : std::uint8_t {
    kNo,
    kIncomplete,  // nothing is wrong so far, and the parser would wait for more too
    kName,
  } kind = Kind::kNo;
  std::string_view name;  // in the bytes that were given
};

// `bytes` are all that arrived. Reads none of them twice, and none past the end.
PlainHello ReadPlainHello(std::string_view bytes);

}  // namespace isthmus
