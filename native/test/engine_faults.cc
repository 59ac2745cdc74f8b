// Runs the scenarios. `plain`: without faults. `walk`: each scenario once to count its system calls, then once for each call and
// each error of that call. `lifetimes`: `walk` for the scenarios of Lifetimes() and Routes() only. `walk 0 2` plays one of two shares.
// A share holds faults and not scenarios, because some scenarios have a hundred times more faults than others.
// Prints failures, the reached cells of the table in connection.h, and a summary.
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

// A run takes less than a second. A run that takes this long hangs; the signal handler prints its name.
constexpr unsigned kHangSeconds = 60;
// Calls of a bulk transfer are alike: walk through the first kEach, then every seventh.
constexpr int kEach = 8;
constexpr int kStride = 7;

char playing[256] = "";
int runs = 0;
int failures = 0;
int happened = 0;

void OnHang(int) {
  static constexpr char kHangs[] = "FAILED by hanging: ";
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
  // The engine asks JavaScript about a hello in three or more pieces.
  if (scenario.name == "prepared, in two pieces") return kind.call == fault::Call::kReceive && kind.error == fault::kShort;
  // Clients that stay in the queue of a closing listener are lost. But a client that left (ECONNABORTED) must not keep others there.
  if (scenario.name == "drain") return kind.call == fault::Call::kAccept && kind.error != EINTR && kind.error != ECONNABORTED;
  return false;
}

// The share of a fault must not depend on the number of calls. epoll_wait runs more often in one process than in another, and later
// faults would then be skipped or played twice.
bool IsMine(std::size_t scenario, std::size_t kind, int step, int share, int shares) {
  return static_cast<int>((scenario + kind + static_cast<std::size_t>(step)) % static_cast<std::size_t>(shares)) == share;
}

void Walk(const Scenario& scenario, std::size_t index, bool whole_life, int share, int shares) {
  Play(scenario, {}, true);
  int counts[static_cast<std::size_t>(fault::Call::kCount)];
  for (std::size_t i = 0; i < std::size(counts); i += 1) counts[i] = fault::CountOf(static_cast<fault::Call>(i));
  std::size_t kind_index = 0;
  for (const fault::Kind& kind : fault::Kinds()) {
    kind_index += 1;
    const int count = counts[static_cast<std::size_t>(kind.call)];
    if (!whole_life && kind.like_another) continue;
    int step = 0;
    for (int nth = 1; nth <= count; nth += nth < kEach ? 1 : kStride) {
      step += 1;
      if (!IsMine(index, kind_index, step, share, shares)) continue;
      Play(scenario, {{kind.call, nth, kind.error}}, whole_life && kind.harmless && !MayBeNoticed(scenario, kind));
    }
  }
}

int Run(const std::string& mode, int share, int shares) {
  fault::LeaveAlone();
  ::signal(SIGALRM, OnHang);
  ::signal(SIGPIPE, SIG_IGN);
  ::setvbuf(stdout, nullptr, _IOLBF, 0);
  auto lifetimes = Lifetimes();
  for (Scenario& route : Routes()) lifetimes.push_back(std::move(route));
  auto others = Cells();
  for (Scenario& trap : Traps()) others.push_back(std::move(trap));
  for (Scenario& shortage : Shortages()) others.push_back(std::move(shortage));
  for (Scenario& ending : Endings()) others.push_back(std::move(ending));
  std::size_t index = 0;
  for (std::vector<Scenario>* list : {&lifetimes, &others}) {
    if (mode == "lifetimes" && list != &lifetimes) continue;
    for (const Scenario& scenario : *list) {
      index += 1;
      if (mode != "plain") Walk(scenario, index, list == &lifetimes, share, shares);
      else Play(scenario, {}, true);
    }
  }
  for (const auto& [state, trigger] : EverWitnessed()) {
    std::printf("reached %s × %s\n", NameOf(state).c_str(), NameOf(trigger).c_str());
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
