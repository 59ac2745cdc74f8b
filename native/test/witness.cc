#include "test/witness.h"

#include <mutex>

namespace isthmus {
namespace {

std::mutex mutex;
std::set<std::pair<State, Trigger>> lately;
std::set<std::pair<State, Trigger>> ever;

}  // namespace

void Witness(State state, Trigger trigger) {
  const std::lock_guard lock(mutex);
  lately.emplace(state, trigger);
  ever.emplace(state, trigger);
}

void ForgetWitnessed() {
  const std::lock_guard lock(mutex);
  lately.clear();
}

bool Witnessed(State state, Trigger trigger) {
  const std::lock_guard lock(mutex);
  return lately.contains({state, trigger});
}

std::set<std::pair<State, Trigger>> EverWitnessed() {
  const std::lock_guard lock(mutex);
  return ever;
}

std::string NameOf(State state) {
  static constexpr const char* kNames[] = {"Hello", "Asking", "Connecting", "Relaying", "Closing", "Resetting", "Dead"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string NameOf(Trigger trigger) {
  static constexpr const char* kNames[] = {"client ready", "client FIN",    "client reset", "backend ready", "backend FIN",
                                           "backend reset", "deadline", "answer",       "abort"};
  return kNames[static_cast<std::size_t>(trigger)];
}

}  // namespace isthmus
