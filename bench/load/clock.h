// Time in nanoseconds: monotonic for measurements, since 1970 for values that another process reads.
#pragma once
#include <cstdint>
#include <ctime>

inline int64_t clock_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

inline int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }
inline int64_t unix_ns() { return clock_ns(CLOCK_REALTIME); }
