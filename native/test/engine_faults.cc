// Plays scenarios on the engine. `plain`: as they are. `walk`: each once to count its system calls, then once for each call and
// each way in which it can fail; `lives`: only whole lives so. `walk 0 2` is the first half. Prints what failed, the cells of connection.h's table that were reached, and a summary.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "test/fault.h"
#include "test/scenario.h"
#include "test/witness.h"

namespace isthmus {
namespace {

// No run takes a second; one that takes so long hangs, and the name of it is what one wants to know.
constexpr unsigned kHangSeconds = 60;
// In a bulk transfer the calls repeat: so many of the first, then every seventh.
constexpr int kEach = 8;
constexpr int kStride = 7;

char playing[256] = "";
int runs = 0;
int failures = 0;
int happened = 0;

void OnHang(int) {
  static constexpr char kHangs[] = "FAILED it hangs: ";
  [[maybe_unused]] auto written = ::write(1, kHangs, sizeof kHangs - 1);
  written = ::write(1, playing, std::strlen(playing));
  written = ::write(1, "\n", 1);
  ::_exit(3);
}

void Play(const Scenario& scenario, std::vector<fault::Fault> faults, bool strict) {
  std::string name = scenario.name;
  for (const fault::Fault& each : faults) name += ", " + fault::NameOf(each);
  std::snprintf(playing, sizeof playing, "%s", name.c_str());
  ::alarm(kHangSeconds);
  fault::Plan(std::move(faults));
  ForgetWitnessed();
  Stage stage(scenario.options, strict);
  scenario.play(stage, scenario);
  const std::string problem = stage.Clear();
  ::alarm(0);
  runs += 1;
  happened += fault::Happened();
  if (problem.empty()) return;
  failures += 1;
  std::printf("FAILED %s: %s\n", name.c_str(), problem.c_str());
}

bool MayBeNoticed(const Scenario& scenario, const fault::Kind& kind) {
  // In three pieces or more it is asked about.
  if (scenario.name == "prepared, in two pieces") return kind.call == fault::Call::kReceive && kind.error == fault::kShort;
  // Who is left in the queue of a listener that closes is lost; only that somebody has left must not keep others there.
  if (scenario.name == "drain") return kind.call == fault::Call::kAccept && kind.error != EINTR && kind.error != ECONNABORTED;
  return false;
}

void Walk(const Scenario& scenario, bool whole_life) {
  Play(scenario, {}, true);
  int counts[static_cast<std::size_t>(fault::Call::kCount)];
  for (std::size_t i = 0; i < std::size(counts); i += 1) counts[i] = fault::CountOf(static_cast<fault::Call>(i));
  for (const fault::Kind& kind : fault::Kinds()) {
    const int count = counts[static_cast<std::size_t>(kind.call)];
    if (!whole_life && kind.like_another) continue;
    for (int nth = 1; nth <= count; nth += nth < kEach ? 1 : kStride) {
      Play(scenario, {{kind.call, nth, kind.error}}, whole_life && kind.harmless && !MayBeNoticed(scenario, kind));
    }
  }
}

int Run(const std::string& mode, int share, int shares) {
  fault::LeaveAlone();
  ::signal(SIGALRM, OnHang);
  ::signal(SIGPIPE, SIG_IGN);
  ::setvbuf(stdout, nullptr, _IOLBF, 0);
  auto lives = Lives();
  auto others = Cells();
  for (Scenario& trap : Traps()) others.push_back(std::move(trap));
  for (Scenario& shortage : Shortages()) others.push_back(std::move(shortage));
  for (Scenario& ending : Endings()) others.push_back(std::move(ending));
  int index = 0;
  for (std::vector<Scenario>* list : {&lives, &others}) {
    if (mode == "lives" && list != &lives) continue;
    for (const Scenario& scenario : *list) {
      if (index++ % shares != share) continue;
      if (mode != "plain") Walk(scenario, list == &lives);
      else Play(scenario, {}, true);
    }
  }
  for (const auto& [state, happening] : EverWitnessed()) {
    std::printf("reached %s × %s\n", NameOf(state).c_str(), NameOf(happening).c_str());
  }
  std::printf("%d runs, %d faults, %d failures\n", runs, happened, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "plain";
  return isthmus::Run(mode, argc > 3 ? std::atoi(argv[2]) : 0, argc > 3 ? std::atoi(argv[3]) : 1);
}
