// Reads the arguments of calls from JavaScript. On a wrong type or value, each function throws a TypeError or RangeError with
// a code and returns nullopt. It never coerces a value: `undefined` as a descriptor would become 0, which is stdin.
#pragma once

#include <napi.h>

#include <optional>
#include <string>

namespace isthmus {

std::optional<std::string> PathArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name);
// 0 .. 2^31-1.
std::optional<int> IntArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name);

}  // namespace isthmus
