// The load generator and the backend of the benchmark: one program, one thread, one mode per run, one line of JSON at the end.
// It connects only to the given address, and every mode ends by itself.
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <string>

#include "modes.h"

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  std::string mode = argc > 1 ? argv[1] : "";
  Options options(argc, argv, 2);
  if (mode == "backend") return run_backend(options);
  if (mode == "connections") return run_connections(options);
  if (mode == "requests") return run_requests(options);
  if (mode == "bulk") return run_bulk(options);
  if (mode == "idle") return run_idle(options);
  if (mode == "correctness") return run_correctness(options);
  if (mode == "spin") return run_spin(options);
  fail("modes: backend, connections, requests, bulk, idle, correctness, spin");
}
