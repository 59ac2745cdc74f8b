// An end is called by what the kernel said of it first: a send that failed is told its reason once, and EPIPE ever after.
#include <cerrno>

#include "test/fault.h"
#include "test/scenario.h"

namespace isthmus {
namespace {

// Whoever is spoken to, by `self.happening`.
void TimesOut(Stage& stage, const Scenario& self) {
  const bool is_client = self.happening == Happening::kClientReset;
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  fault::Always(fault::Call::kSend, EPIPE);
  fault::Add(fault::Call::kSend, ETIMEDOUT);
  STEP(stage.Say(is_client ? backend : client, "are you there?"));
  STEP(stage.Ended(is_client ? Outcome::kClientTimeout : Outcome::kBackendTimeout));
}

}  // namespace

std::vector<Scenario> Endings() {
  return {
      {"a send finds that the backend has stopped answering", {}, TimesOut, State::kRelaying, Happening::kBackendReset},
      {"a send finds that the client has stopped answering", {}, TimesOut, State::kRelaying, Happening::kClientReset},
  };
}

}  // namespace isthmus
