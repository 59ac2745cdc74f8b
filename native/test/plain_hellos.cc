// Prints the result of ReadPlainHello for each hello on stdin: a line of `no`, `incomplete` or `name <name>`. Input format: four
// bytes of length (little-endian), then the bytes. Each hello has a buffer of its exact size: AddressSanitizer reports an overread.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "engine/plain_hello.h"

int main() {
  unsigned char header[4];
  while (std::fread(header, 1, sizeof header, stdin) == sizeof header) {
    const std::size_t length = header[0] | header[1] << 8 | header[2] << 16 | static_cast<std::size_t>(header[3]) << 24;
    const std::unique_ptr<char[]> bytes(new char[length]);
    if (std::fread(bytes.get(), 1, length, stdin) != length) return 1;
    const isthmus::PlainHello plain = isthmus::ReadPlainHello({bytes.get(), length});
    switch (plain.kind) {
      case isthmus::PlainHello::Kind::kNo:
        std::puts("no");
        break;
      case isthmus::PlainHello::Kind::kIncomplete:
        std::puts("incomplete");
        break;
      case isthmus::PlainHello::Kind::kName:
        std::printf("name %.*s\n", static_cast<int>(plain.name.size()), plain.name.data());
        break;
    }
  }
  return 0;
}
