// The ClientHellos to send, from a file of [length: u32][bytes]…. They are captured from real clients; the harness replaces the server
// name.
#pragma once
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "command.h"
#include "options.h"

class Hellos {
 public:
  explicit Hellos(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string all((std::istreambuf_iterator<char>(file)), {});
    for (size_t at = 0; at + 4 <= all.size();) {
      uint32_t length;
      memcpy(&length, all.data() + at, 4);
      at += 4;
      if (at + length > all.size()) fail("a hello is cut short in " + path);
      hellos_.push_back(all.substr(at, length));
      at += length;
    }
    if (hellos_.empty()) fail("no hello in " + path);
  }

  /** Puts the same command into all hellos. */
  void ask(const Command& command) {
    for (std::string& hello : hellos_) hello = with(hello, command);
  }
  const std::string& next() {
    const std::string& hello = hellos_[at_];
    if (++at_ == hellos_.size()) at_ = 0;
    return hello;
  }
  const std::string& first() const { return hellos_[0]; }

  static std::string with(std::string hello, const Command& command) {
    memcpy(hello.data() + kRecordHeader + kRandomInHandshake, &command, sizeof command);
    return hello;
  }

 private:
  std::vector<std::string> hellos_;
  size_t at_ = 0;
};
