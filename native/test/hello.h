// Builds a minimal plain hello (engine/plain_hello.h).
#pragma once

#include <string>

namespace isthmus {

inline std::string HelloFor(const std::string& name) {
  const auto sized = [](std::size_t bytes, const std::string& content) {
    std::string result;
    for (std::size_t i = bytes; i-- > 0;) result += static_cast<char>(content.size() >> (8 * i) & 0xff);
    return result + content;
  };
  const std::string list = sized(2, std::string(1, '\0') + sized(2, name));
  const std::string extensions = sized(2, std::string(2, '\0') + sized(2, list));
  const std::string body = "\x03\x03" + std::string(32, 'r') + sized(1, "") + sized(2, "\x13\x01") + sized(1, std::string(1, '\0')) + extensions;
  return "\x16\x03\x01" + sized(2, "\x01" + sized(3, body));
}

}  // namespace isthmus
