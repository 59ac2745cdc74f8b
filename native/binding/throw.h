// Turns failures into JavaScript exceptions of the shape of Node's own: code, errno, syscall, path.
// Plain Node-API, statuses ignored: in a worker that is being terminated every call here fails, and the C++ wrapper would
// make that a fatal error of the whole process.
#pragma once

#include <napi.h>

#include <string>

#include "sys/sys_error.h"

namespace isthmus {

// `path` as the caller gave it, or nullptr; a path in the error itself goes first. Returns an empty value to return.
Napi::Value ThrowSysError(Napi::Env env, const SysError& error, const char* path);

enum class ErrorClass { kError, kTypeError, kRangeError };
Napi::Value ThrowCoded(Napi::Env env, ErrorClass error_class, const char* code, const std::string& message,
                       const char* path = nullptr);

}  // namespace isthmus
