#include "binding/arguments.h"

#include <cmath>
#include <limits>

#include "binding/throw.h"

namespace isthmus {
namespace {

std::nullopt_t WrongType(const Napi::CallbackInfo& info, const char* name, const char* wanted) {
  ThrowCoded(info.Env(), ErrorClass::kTypeError, "ERR_INVALID_ARG_TYPE",
             std::string("The \"") + name + "\" argument must be " + wanted);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> PathArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  const Napi::Value value = info[index];
  if (!value.IsString()) return WrongType(info, name, "of type string");
  std::string path = value.As<Napi::String>().Utf8Value();
  if (path.find('\0') != std::string::npos) {
    ThrowCoded(info.Env(), ErrorClass::kTypeError, "ERR_INVALID_ARG_VALUE",
               std::string("The \"") + name + "\" argument must be a string without null bytes");
    return std::nullopt;
  }
  return path;
}

std::optional<int> IntArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  const Napi::Value value = info[index];
  if (!value.IsNumber()) return WrongType(info, name, "of type number");
  const double number = value.As<Napi::Number>().DoubleValue();
  constexpr int kMax = std::numeric_limits<int>::max();
  if (!(number >= 0 && number <= kMax) || std::trunc(number) != number) {
    ThrowCoded(info.Env(), ErrorClass::kRangeError, "ERR_OUT_OF_RANGE",
               std::string("The \"") + name + "\" argument must be an integer from 0 to " + std::to_string(kMax));
    return std::nullopt;
  }
  return static_cast<int>(number);
}

}  // namespace isthmus
