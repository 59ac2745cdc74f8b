// Keeps a virtual core awake at the lowest priority. Measured wake-ups then do not include the wake-up of the host's core.
#include <sched.h>

#include "clock.h"
#include "modes.h"

static inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

int run_spin(const Options& options) {
  sched_param none{};
  if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) fail("SCHED_IDLE refused");
  int64_t end = now_ns() + int64_t(options.number("seconds", 3600) * 1e9);
  while (now_ns() < end)
    for (int i = 0; i < 1000; ++i) pause_briefly();
  return 0;
}
