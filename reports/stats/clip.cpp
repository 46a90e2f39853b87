#include "reports/stats/clip.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/summary.h"

namespace bertbench {

std::vector<double> clipped(std::span<const double> series) {
  const auto quartiles = quantiles(series, {0.25, 0.5, 0.75});
  const double low = quartiles[0], middle = quartiles[1], high = quartiles[2];
  const double reach = std::max(1.5 * (high - low), 0.1 * std::abs(middle));
  std::vector<double> out(series.begin(), series.end());
  for (double& y : out) y = std::clamp(y, low - reach, high + reach);
  return out;
}

}  // namespace bertbench
