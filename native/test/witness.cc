#include "test/witness.h"

#include <mutex>

namespace isthmus {
namespace {

std::mutex mutex;
std::set<std::pair<State, Happening>> lately;
std::set<std::pair<State, Happening>> ever;

}  // namespace

void Witness(State state, Happening happening) {
  const std::lock_guard lock(mutex);
  lately.emplace(state, happening);
  ever.emplace(state, happening);
}

void ForgetWitnessed() {
  const std::lock_guard lock(mutex);
  lately.clear();
}

bool Witnessed(State state, Happening happening) {
  const std::lock_guard lock(mutex);
  return lately.contains({state, happening});
}

std::set<std::pair<State, Happening>> EverWitnessed() {
  const std::lock_guard lock(mutex);
  return ever;
}

std::string NameOf(State state) {
  static constexpr const char* kNames[] = {"Hello", "Asking", "Connecting", "Relaying", "Parting", "Resetting", "Dead"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string NameOf(Happening happening) {
  static constexpr const char* kNames[] = {"client ready", "client FIN",    "client reset", "backend ready", "backend FIN",
                                           "backend reset", "deadline", "answer",       "abort"};
  return kNames[static_cast<std::size_t>(happening)];
}

}  // namespace isthmus
