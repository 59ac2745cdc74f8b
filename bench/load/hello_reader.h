// Finds the end of the ClientHello across any number of TLS records and segments, and the command in its random bytes.
#pragma once
#include <cstddef>

#include "command.h"

class HelloReader {
 public:
  /** Returns how many of the bytes belong to the hello. */
  size_t take(const unsigned char* bytes, size_t length) {
    size_t at = 0;
    while (at < length && !complete() && possible()) {
      if (in_header_ < kRecordHeader) {
        header_[in_header_++] = bytes[at++];
        if (in_header_ == kRecordHeader) {
          left_in_record_ = size_t(header_[3]) << 8 | header_[4];
          if (header_[0] != 22 || left_in_record_ == 0) possible_ = false;
        }
        continue;
      }
      size_t n = length - at < left_in_record_ ? length - at : left_in_record_;
      size_t keep = got_ < sizeof start_ ? (n < sizeof start_ - got_ ? n : sizeof start_ - got_) : 0;
      memcpy(start_ + got_, bytes + at, keep);
      got_ += n;
      at += n;
      left_in_record_ -= n;
      if (left_in_record_ == 0) in_header_ = 0;
    }
    return at;
  }
  bool complete() const { return got_ >= sizeof start_ && left_in_record_ == 0 && got_ >= wanted(); }
  bool possible() const { return possible_ && (got_ < 4 || start_[0] == 1); }
  Command command() const {
    Command command;
    memcpy(&command, start_ + kRandomInHandshake, sizeof command);
    if (memcmp(command.magic, "bnch", 4) != 0) command = Command{};
    return command;
  }

 private:
  size_t wanted() const { return 4 + (size_t(start_[1]) << 16 | size_t(start_[2]) << 8 | start_[3]); }

  unsigned char header_[kRecordHeader] = {};
  unsigned char start_[kRandomInHandshake + sizeof(Command)] = {};
  size_t in_header_ = 0, left_in_record_ = 0, got_ = 0;
  bool possible_ = true;
};
