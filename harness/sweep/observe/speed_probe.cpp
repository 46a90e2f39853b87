#include "harness/sweep/observe/speed_probe.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "harness/sweep/process/process.h"

namespace bertbench {
namespace {

constexpr std::size_t kSide = 48;               // three matrices of 9 KiB
constexpr std::size_t kFloats = 2 * (1 << 20);  // of a buffer: 8 MiB, more than a core's own caches

/// c += a b, with the innermost loop along rows.
void multiply(const float* a, const float* b, float* c) {
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t k = 0; k < kSide; ++k) {
      const float x = a[i * kSide + k];
      for (std::size_t j = 0; j < kSide; ++j) c[i * kSide + j] += x * b[k * kSide + j];
    }
  }
}

/// `amount` a pass, in units a second.
template <class Pass>
double speed(double seconds, double amount, double handicap, Pass&& pass) {
  const auto begin = std::chrono::steady_clock::now();
  double passes = 0, elapsed = 0;
  do {
    const double started = elapsed;
    pass();
    ++passes;
    elapsed = seconds_since(begin);
    const double until = elapsed + handicap * (elapsed - started);
    while (elapsed < until) elapsed = seconds_since(begin);
  } while (elapsed < seconds);
  return passes * amount / elapsed;
}

}  // namespace

nlohmann::ordered_json SpeedProbe::read(double seconds, double handicap) {
  if (from_.empty()) {
    from_.assign(kFloats, 1.0F);
    to_.assign(kFloats, 0.0F);
  }
  float* a = to_.data();
  float* b = a + kSide * kSide;
  float* c = b + kSide * kSide;
  std::fill(a, c, 1e-3F);  // small: sums of thousands of products stay finite
  std::fill(c, c + kSide * kSide, 0.0F);
  const double gflops = speed(seconds / 2, 2e-9 * kSide * kSide * kSide * 16, handicap, [&] {
    for (int i = 0; i < 16; ++i) multiply(a, b, c);
  });
  const double copied = speed(seconds / 2, 2e-9 * sizeof(float) * kFloats, handicap,
                              [&] { std::copy(from_.begin(), from_.end(), to_.begin()); });
  // Looked at, so that no compiler leaves the work out.
  volatile float seen = c[0] + to_[kFloats / 2];
  (void)seen;
  return {{"gflops", gflops}, {"copy_gb_s", copied}};
}

}  // namespace bertbench
