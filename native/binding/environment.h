// The addon's state per JavaScript environment (the main thread, or one worker): the thread's home netns and the class
// `Netns`. It is the environment's instance data, so Node deletes it with the environment. The addon has no globals.
#pragma once

#include <napi.h>

#include <optional>
#include <utility>
#include <vector>

#include "sys/netns_scope.h"
#include "sys/sys_error.h"

namespace isthmus {

class Environment {
 public:
  Environment(napi_env env, napi_ref netns_class);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  static Environment& Of(Napi::Env env) { return *env.GetInstanceData<Environment>(); }

  // The constructor opens it when the addon loads. If that failed (no /proc, no free descriptor), each call retries.
  Result<HomeNetns*> Home();
  // Frees the object when the environment ends.
  void Keep(void* object, void (*free)(void*)) { kept_.emplace_back(object, free); }
  // The class `Netns`, or nullptr in an environment that is shutting down.
  napi_value NetnsClass() const;

 private:
  napi_env env_;
  napi_ref netns_class_;
  std::optional<HomeNetns> home_;
  std::vector<std::pair<void*, void (*)(void*)>> kept_;
};

}  // namespace isthmus
