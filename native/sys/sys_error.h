// A failed system call as plain data, and the result that carries either a value or such an error. Knows no Node-API.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace isthmus {

struct SysError {
  int error;            // errno, positive as the kernel counts
  const char* syscall;  // static string
  const char* code = nullptr;    // a name of our own in place of errno's (ENOTNETNS)
  const char* detail = nullptr;  // static string that says more than errno can
  const char* path = nullptr;    // static string, when another path than the caller's failed
};

struct ErrorName {
  const char* code;
  const char* message;
};

// Names and words as Node's own errors have them; nullptr in both for a number that it does not name either.
ErrorName NameOfErrno(int error);

// "ENOENT", "Unknown system error -133".
std::string CodeOf(const SysError& error);
// "ENOENT: no such file or directory, open '/run/netns/x'"; path may be nullptr.
std::string MessageOf(const SysError& error, const char* path);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(const SysError& error) : state_(std::in_place_index<1>, error) {}

  bool Ok() const { return state_.index() == 0; }
  // Only after Ok() said yes, and no respectively.
  T& Value() { return *std::get_if<0>(&state_); }
  const SysError& Error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, SysError> state_;
};

}  // namespace isthmus
