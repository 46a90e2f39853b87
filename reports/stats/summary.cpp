#include "reports/stats/summary.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <utility>
#include <vector>

namespace bertbench {
namespace {

/// The `rank`-th smallest from 0, and the next one above (itself, if it is the last). Values below
/// `from` are known to be the smallest ones; `values` is left in another order, with all below
/// `rank` before it.
std::pair<double, double> order_statistics(std::span<double> values, std::size_t rank,
                                           std::size_t from = 0) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin() + static_cast<std::ptrdiff_t>(from), at, values.end());
  return {*at, at + 1 == values.end() ? *at : *std::min_element(at + 1, values.end())};
}

std::vector<double> sorted(std::span<const double> sample) {
  std::vector<double> values(sample.begin(), sample.end());
  std::ranges::sort(values);
  return values;
}

}  // namespace

double round_dlperf(double value) { return std::nearbyint(value * 100.0) / 100.0; }

double mean(std::span<const double> sample) {
  double sum = 0;
  for (const double x : sample) sum += x;
  return sum / static_cast<double>(sample.size());
}

std::vector<double> batch_means(std::span<const double> series, std::size_t batch) {
  std::vector<double> out;
  out.reserve(series.size() / batch);
  for (std::size_t i = 0; i + batch <= series.size(); i += batch) {
    out.push_back(mean(series.subspan(i, batch)));
  }
  return out;
}

double standard_deviation(std::span<const double> sample) {
  // The mean of equal values is not always that value to the last bit.
  if (std::ranges::adjacent_find(sample, std::not_equal_to{}) == sample.end()) return 0;
  const double center = mean(sample);
  double squares = 0;
  for (const double x : sample) squares += (x - center) * (x - center);
  return std::sqrt(squares / static_cast<double>(sample.size() - 1));
}

double median_absolute_deviation(std::span<const double> sample) {
  return median_absolute_deviation(sample, median(sample));
}

double median_absolute_deviation(std::span<const double> sample, double median) {
  std::vector<double> deviations;
  deviations.reserve(sample.size());
  for (const double x : sample) deviations.push_back(std::abs(x - median));
  return bertbench::median(deviations);
}

double quantile(std::span<const double> sample, double q) { return quantiles(sample, {q}).front(); }

std::vector<double> quantiles(std::span<const double> sample,
                              std::initializer_list<double> ascending) {
  std::vector<double> values(sample.begin(), sample.end());
  std::vector<double> out;
  std::size_t from = 0;
  for (const double q : ascending) {
    const double position = q * static_cast<double>(values.size() - 1);
    const auto below = std::min(static_cast<std::size_t>(position), values.size() - 1);
    const auto [low, high] = order_statistics(values, below, from);
    // Not of two infinite ones, whose distance is no number.
    out.push_back(high > low ? low + (position - static_cast<double>(below)) * (high - low) : low);
    from = below;
  }
  return out;
}

std::optional<OrderInterval> median_interval_ranks(std::size_t n, double confidence) {
  const boost::math::binomial_distribution<double> flips(static_cast<double>(n), 0.5);
  std::optional<OrderInterval> best;
  for (std::size_t low = 1; low <= n / 2; ++low) {
    const double coverage = 1 - 2 * boost::math::cdf(flips, static_cast<double>(low - 1));
    if (coverage < confidence) break;
    best = OrderInterval{low, n + 1 - low, coverage};
  }
  return best;
}

std::optional<Interval> median_interval(std::span<const double> sample, double confidence) {
  const auto ranks = median_interval_ranks(sample.size(), confidence);
  if (!ranks) return std::nullopt;
  const auto values = sorted(sample);
  return Interval{values[ranks->low - 1], values[ranks->high - 1], ranks->coverage};
}

std::optional<Interval> mean_interval(std::span<const double> sample, double confidence) {
  if (sample.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(sample.size());
  const boost::math::students_t_distribution<double> student(n - 1);
  const double t = boost::math::quantile(student, 0.5 + confidence / 2);
  const double half = t * standard_deviation(sample) / std::sqrt(n);
  const double center = mean(sample);
  return Interval{center - half, center + half, confidence};
}

ThroughputSummary summarize_sample(std::span<const double> sample, bool compat_dlperf) {
  ThroughputSummary out;
  out.n = static_cast<int>(sample.size());
  if (sample.empty()) return out;
  out.mean = mean(sample);
  out.median = median(sample);
  if (sample.size() >= 2) {
    out.stddev = standard_deviation(sample);
    if (*out.mean > 0) out.cv = *out.stddev / *out.mean;
  }
  out.median_interval = median_interval(sample);
  out.mean_interval = mean_interval(sample);
  if (compat_dlperf) {
    out.mean = round_dlperf(*out.mean);
    out.median = round_dlperf(*out.median);
  }
  return out;
}

}  // namespace bertbench
