// An end is called by what the kernel said of it first: a send that failed is told its reason once, and EPIPE ever after.
#include <cerrno>

#include "test/fault.h"
#include "test/scenario.h"

namespace isthmus {
namespace {

void BackendTimesOut(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  fault::Always(fault::Call::kSend, EPIPE);
  fault::Add(fault::Call::kSend, ETIMEDOUT);
  STEP(stage.Say(client, "are you there?"));
  STEP(stage.Ended(Outcome::kBackendTimeout));
}

void ClientTimesOut(Stage& stage, const Scenario&) {
  int client = -1;
  int backend = -1;
  if (!Relaying(stage, client, backend)) return;
  fault::Always(fault::Call::kSend, EPIPE);
  fault::Add(fault::Call::kSend, ETIMEDOUT);
  STEP(stage.Say(backend, "are you there?"));
  STEP(stage.Ended(Outcome::kClientTimeout));
}

}  // namespace

std::vector<Scenario> Endings() {
  return {
      {"a send finds that the backend has stopped answering", {}, BackendTimesOut},
      {"a send finds that the client has stopped answering", {}, ClientTimesOut},
  };
}

}  // namespace isthmus
