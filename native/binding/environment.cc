#include "binding/environment.h"

#include <utility>

namespace isthmus {

Environment::Environment(napi_env env, napi_ref netns_class) : env_(env), netns_class_(netns_class) {
  if (auto home = HomeNetns::OfCallingThread(); home.Ok()) home_.emplace(std::move(home.Value()));
}

Environment::~Environment() {
  for (const auto& [object, free] : kept_) free(object);
  napi_delete_reference(env_, netns_class_);
}

Result<HomeNetns*> Environment::Home() {
  if (!home_) {
    auto home = HomeNetns::OfCallingThread();
    if (!home.Ok()) return home.Error();
    home_.emplace(std::move(home.Value()));
  }
  return &*home_;
}

napi_value Environment::NetnsClass() const {
  napi_value netns_class = nullptr;
  napi_get_reference_value(env_, netns_class_, &netns_class);
  return netns_class;
}

}  // namespace isthmus
