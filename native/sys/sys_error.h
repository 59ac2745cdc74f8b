// A failed system call as plain data, and a result type that holds either a value or such an error. Independent of Node-API.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace isthmus {

struct SysError {
  int error;            // positive errno
  const char* syscall;  // static string
  const char* code = nullptr;    // Isthmus's own code instead of the errno name (ENOTNETNS)
  const char* detail = nullptr;  // static string with more detail than errno
  const char* path = nullptr;    // static string, if the failing path is not the caller's
};

struct ErrorName {
  const char* code;
  const char* message;
};

// The same codes and messages as Node's own errors. Both are nullptr for a number that Node has no name for.
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
  // Call Value() only if Ok() is true, and Error() only if it is false.
  T& Value() { return *std::get_if<0>(&state_); }
  const SysError& Error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, SysError> state_;
};

}  // namespace isthmus
