#include "reports/stats/gate_noise.h"

#include "reports/stats/summary.h"

namespace bertbench {

double gate_noise(std::span<const double> pooled, std::span<const double> medians,
                  double reference) {
  constexpr double kSigmas = 3;
  if (medians.size() >= kRunsForNoise) return kSigmas * standard_deviation(medians) / reference;
  return kSigmas * kMadToSigma * median_absolute_deviation(pooled) / median(pooled);
}

}  // namespace bertbench
