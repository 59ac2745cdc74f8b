// What the addon knows per JavaScript environment (the main thread, or one worker): the thread's own netns and the class
// `Netns`. It is the environment's instance data: Node deletes it with the environment. There are no globals.
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

  // Saved when the addon is loaded; tried again here if that failed (no /proc, no free descriptor).
  Result<HomeNetns*> Home();
  // Frees the object when the environment ends.
  void Keep(void* object, void (*free)(void*)) { kept_.emplace_back(object, free); }
  // The class `Netns`, or nullptr in an environment that is going down.
  napi_value NetnsClass() const;

 private:
  napi_env env_;
  napi_ref netns_class_;
  std::optional<HomeNetns> home_;
  std::vector<std::pair<void*, void (*)(void*)>> kept_;
};

}  // namespace isthmus
