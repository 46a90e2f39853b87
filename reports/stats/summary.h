// Summary statistics of a small sample of trials, with intervals that are exact or Student's.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "parsers/core/median.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// numpy's round(x, 2): nearbyint(x * 100) / 100 in binary, ties to even. Published DLPerf numbers
/// need this and not decimal rounding (441.745 -> 441.74, 2725.415 -> 2725.42).
[[nodiscard]] double round_dlperf(double value);

/// Left to right sum over n. Sample must not be empty (as for all functions below).
[[nodiscard]] double mean(std::span<const double> sample);
/// Of each `batch` values in turn; a rest that fills no batch is left out.
[[nodiscard]] std::vector<double> batch_means(std::span<const double> series, std::size_t batch);
/// n - 1 in the denominator, two passes; n >= 2.
[[nodiscard]] double standard_deviation(std::span<const double> sample);
/// Standard deviations of normal data for one median absolute deviation: 1 / Phi^-1(3/4).
inline constexpr double kMadToSigma = 1.4826;
/// Median of absolute deviations from the median, without a factor.
[[nodiscard]] double median_absolute_deviation(std::span<const double> sample);
/// The same where the median is known already.
[[nodiscard]] double median_absolute_deviation(std::span<const double> sample, double median);
/// Linear interpolation between order statistics (Hyndman and Fan type 7, numpy's default);
/// 0 <= q <= 1.
[[nodiscard]] double quantile(std::span<const double> sample, double q);
/// Several at once, from small to large, in about half the time of one after the other.
[[nodiscard]] std::vector<double> quantiles(std::span<const double> sample,
                                            std::initializer_list<double> ascending);

/// Ranks (1-based) of the narrowest symmetric order-statistic interval of the median with at least
/// `confidence`: P = 1 - 2 P(Bin(n, 1/2) < low). None when even minimum to maximum covers less.
struct OrderInterval {
  std::size_t low = 0, high = 0;
  double coverage = 0;
};
[[nodiscard]] std::optional<OrderInterval> median_interval_ranks(std::size_t n,
                                                                 double confidence = 0.95);
[[nodiscard]] std::optional<Interval> median_interval(std::span<const double> sample,
                                                      double confidence = 0.95);
/// Student t, n >= 2.
[[nodiscard]] std::optional<Interval> mean_interval(std::span<const double> sample,
                                                    double confidence = 0.95);

/// Everything at once. With `compat_dlperf`, mean and median are rounded as DLPerf rounds them
/// (the sample must be rounded already).
[[nodiscard]] ThroughputSummary summarize_sample(std::span<const double> sample,
                                                 bool compat_dlperf = false);

}  // namespace bertbench
