// The outcome of an end is the kernel's first error: a failed send returns the reason once, and EPIPE on every later call.
#include <cerrno>

#include "test/fault.h"
#include "test/scenario.h"

namespace isthmus {
namespace {

// `self.trigger` selects the side that stops answering.
void TimesOut(Stage& stage, const Scenario& self) {
  const bool is_client = self.trigger == Trigger::kClientReset;
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  fault::Always(fault::Call::kSend, EPIPE);
  fault::Add(fault::Call::kSend, ETIMEDOUT);
  STEP(stage.Send(is_client ? backend : client, "are you there?"));
  STEP(stage.Ended(is_client ? Outcome::kClientTimeout : Outcome::kBackendTimeout));
}

}  // namespace

std::vector<Scenario> Endings() {
  return {
      {"a send finds that the backend has stopped answering", {}, TimesOut, State::kRelaying, Trigger::kBackendReset},
      {"a send finds that the client has stopped answering", {}, TimesOut, State::kRelaying, Trigger::kClientReset},
  };
}

}  // namespace isthmus
