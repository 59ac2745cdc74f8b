// Turns failures into JavaScript exceptions with the same fields as Node's own: code, errno, syscall, path. Uses plain
// Node-API and ignores its statuses. In a worker that is being terminated every call here fails. The C++ wrapper would
// turn that failure into a fatal error of the process.
#pragma once

#include <napi.h>

#include <string>

#include "sys/sys_error.h"

namespace isthmus {

// `path` is the caller's argument, or nullptr. A path in the error itself takes precedence. Returns an empty value.
Napi::Value ThrowSysError(Napi::Env env, const SysError& error, const char* path);

enum class ErrorClass { kError, kTypeError, kRangeError };
Napi::Value ThrowCoded(Napi::Env env, ErrorClass error_class, const char* code, const std::string& message,
                       const char* path = nullptr);

}  // namespace isthmus
