#include "reports/stats/clip.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/summary.h"

namespace bertbench {

std::vector<double> clipped(std::span<const double> series) {
  const double low = quantile(series, 0.25);
  const double high = quantile(series, 0.75);
  const double reach = std::max(1.5 * (high - low), 0.1 * std::abs(median(series)));
  std::vector<double> out(series.begin(), series.end());
  for (double& y : out) y = std::clamp(y, low - reach, high + reach);
  return out;
}

}  // namespace bertbench
