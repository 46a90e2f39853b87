#include "reports/stats/stragglers.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

/// Stretches beyond the fewest, so that one in which other ranks were disturbed hides no straggler.
constexpr std::size_t kSpareWindows = 5;

/// Median of a sorted sample without its element at `left_out`; two elements at least.
double median_without(std::span<const double> sorted, std::size_t left_out) {
  const auto at = [&](std::size_t i) { return sorted[i < left_out ? i : i + 1]; };
  const std::size_t n = sorted.size() - 1;
  return n % 2 == 1 ? at(n / 2) : (at(n / 2 - 1) + at(n / 2)) / 2;
}

/// `most` stretches of it at most, each the mean of those that are known of about as many.
std::vector<double> joined(std::span<const double> row, std::size_t most) {
  if (row.size() <= most) return {row.begin(), row.end()};
  std::vector<double> out(most, std::nan(""));
  for (std::size_t i = 0; i < most; ++i) {
    double sum = 0, n = 0;
    for (std::size_t w = i * row.size() / most; w < (i + 1) * row.size() / most; ++w) {
      if (!(row[w] > 0)) continue;
      sum += row[w];
      ++n;
    }
    if (n > 0) out[i] = sum / n;
  }
  return out;
}

}  // namespace

double half_binomial_tail(std::size_t n, std::size_t k) {
  double each = std::pow(0.5, static_cast<double>(n)), sum = 0;  // of i = n, n - 1, ...
  for (std::size_t i = n + 1; i-- > k;) {
    sum += each;
    each *= static_cast<double>(i) / static_cast<double>(n - i + 1);
  }
  return std::min(1.0, sum);
}

std::size_t fewest_windows(std::size_t ranks) {
  std::size_t n = 1;
  while (half_binomial_tail(n, n) * static_cast<double>(ranks) > kStragglerAlpha) ++n;
  return n;
}

std::vector<RankSpeed> rank_speeds(std::span<const std::vector<double>> all) {
  std::vector<RankSpeed> out(all.size());
  if (all.empty()) return out;
  std::vector<std::vector<double>> own;
  for (const auto& row : all)
    own.push_back(joined(row, fewest_windows(all.size()) + kSpareWindows));
  std::vector<std::vector<double>> seconds(own.size()), ratios(own.size());
  for (std::size_t w = 0; w < own[0].size(); ++w) {
    std::vector<double> sorted;
    for (const auto& row : own) {
      if (row[w] > 0) sorted.push_back(row[w]);
    }
    if (sorted.size() < 2) continue;
    std::ranges::sort(sorted);
    for (std::size_t r = 0; r < own.size(); ++r) {
      const double value = own[r][w];
      if (!(value > 0)) continue;
      const auto place = std::ranges::lower_bound(sorted, value) - sorted.begin();
      const double ratio = value / median_without(sorted, static_cast<std::size_t>(place));
      seconds[r].push_back(value);
      ratios[r].push_back(ratio);
      out[r].slow += ratio > 1 + kSlowFloor ? 1 : 0;
      out[r].slowest += value == sorted.back() ? 1 : 0;
    }
  }
  for (std::size_t r = 0; r < own.size(); ++r) {
    RankSpeed& rank = out[r];
    rank.windows = ratios[r].size();
    if (rank.windows == 0) continue;
    rank.own_s = median(seconds[r]);
    rank.ratio = median(ratios[r]);
    rank.straggler =
        half_binomial_tail(rank.windows, rank.slow) * static_cast<double>(own.size()) <=
        kStragglerAlpha;
  }
  return out;
}

}  // namespace bertbench
