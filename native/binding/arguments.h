// Reads arguments of JavaScript callers. Each function throws a coded TypeError or RangeError and returns nothing when the
// value is not exactly what it must be: no coercion, for a descriptor made of `undefined` would be stdin.
#pragma once

#include <napi.h>

#include <optional>
#include <string>

namespace isthmus {

std::optional<std::string> PathArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name);
// 0 .. 2^31-1.
std::optional<int> IntArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name);

}  // namespace isthmus
