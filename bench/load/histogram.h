// A log-linear histogram of nanoseconds, like HdrHistogram. It has 128 steps per power of two, so a quantile's error is below 1 %.
#pragma once
#include <array>
#include <cstdint>
#include <cstdio>

class Histogram {
 public:
  void record(int64_t ns) {
    if (ns < 0) ns = 0;
    if (ns > max_) max_ = ns;
    ++buckets_[index(uint64_t(ns))];
    ++count_;
  }
  uint64_t count() const { return count_; }

  /** Returns the upper bound of the smallest bucket that at least `share` of the values do not exceed. */
  int64_t quantile(double share) const {
    uint64_t wanted = uint64_t(share * double(count_));
    if (wanted >= count_) return max_;
    uint64_t seen = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen > wanted) return int64_t(upper(i)) < max_ ? int64_t(upper(i)) : max_;
    }
    return max_;
  }

  /** Prints a JSON object in microseconds. `curve` holds the quantiles for a plot. */
  void print(const char* name) const {
    static const double shares[] = {0,    0.1,  0.25, 0.5,   0.6,   0.7,   0.75,   0.8,    0.85,   0.9,    0.925,
                                    0.95, 0.97, 0.98, 0.985, 0.99,  0.993, 0.995,  0.997,  0.998,  0.999,  0.9995,
                                    0.9999};
    std::printf("\"%s\":{\"count\":%llu,\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"p999\":%.2f,\"max\":%.2f,\"curve\":[", name,
                (unsigned long long)count_, us(0.5), us(0.9), us(0.99), us(0.999), double(max_) / 1000);
    bool first = true;
    for (double share : shares) {
      std::printf("%s[%g,%.2f]", first ? "" : ",", share, us(share));
      first = false;
    }
    std::printf("]}");
  }

 private:
  static constexpr int kStepBits = 7;
  static constexpr uint64_t kSteps = 1u << kStepBits;

  static size_t index(uint64_t value) {
    if (value < kSteps) return value;
    int shift = 63 - __builtin_clzll(value) - kStepBits;
    return size_t(shift + 1) * kSteps + size_t((value >> shift) - kSteps);
  }
  static uint64_t upper(size_t i) {
    if (i < kSteps) return i;
    size_t shift = i / kSteps - 1;
    return ((i % kSteps + kSteps + 1) << shift) - 1;
  }
  double us(double share) const { return double(quantile(share)) / 1000; }

  std::array<uint64_t, 48 * kSteps> buckets_{};
  uint64_t count_ = 0;
  int64_t max_ = 0;
};
