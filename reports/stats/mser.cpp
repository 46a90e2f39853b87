// Detection of the end of warm-up.
#include <algorithm>
#include <limits>

#include "reports/stats/clip.h"
#include "reports/stats/summary.h"
#include "reports/stats/window.h"

namespace bertbench {
namespace {

constexpr std::size_t kBatch = 5;
// Of the statistic of the best cut in the first half: one beyond it has to stay below that.
constexpr double kLaterCutShare = 0.25;

}  // namespace

std::optional<std::size_t> mser5(std::span<const double> series) {
  const auto y = batch_means(clipped(series), kBatch);
  const std::size_t n = y.size();
  // The statistic means nothing on the last few batches (one batch alone has no variance at all).
  const std::size_t last_cut = std::max(n / 2, n - std::min(n, kBatch));
  // Sums from the back, about a fixed centre so that they do not cancel.
  const double centre = median(y);
  std::vector<double> statistic(n, std::numeric_limits<double>::infinity());
  double sum = 0;
  double squares = 0;
  for (std::size_t d = n; d-- > 0;) {
    const double value = y[d] - centre;
    sum += value;
    squares += value * value;
    const auto left = static_cast<double>(n - d);
    if (d <= last_cut) statistic[d] = std::max(0.0, squares - sum * sum / left) / (left * left);
  }
  // Differences at the level of rounding must not choose a later cut.
  const double noise = 1e-24 * centre * centre;
  std::size_t best = 0;
  std::size_t best_in_half = 0;
  for (std::size_t d = 1; d <= last_cut; ++d) {
    if (statistic[d] + noise < statistic[best]) best = d;
    if (2 * d <= n && statistic[d] + noise < statistic[best_in_half]) best_in_half = d;
  }
  // Few batches are even by chance: only a clearly better cut beyond half means that the first half
  // is no steady state.
  if (statistic[best] < kLaterCutShare * statistic[best_in_half]) {
    return std::nullopt;
  }
  return best_in_half * kBatch;
}

}  // namespace bertbench
