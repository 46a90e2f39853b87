// Exact statistics of paired values: Wilcoxon's signed-rank test and the Hodges-Lehmann median.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "reports/model/result_set.h"

namespace bertbench {

/// P values of the signed-rank test of differences whose signs were as likely either way, given
/// their magnitudes.
struct SignedRank {
  std::size_t n = 0;       ///< differences other than zero
  double w = 0;            ///< sum of the ranks of the positive differences
  double p_less = 1;       ///< P(W <= w): small when the differences are below zero
  double p_greater = 1;    ///< P(W >= w): small when they are above zero
  double p_two_sided = 1;  ///< min(1, 2 min(p_less, p_greater))
  bool exact = true;       ///< false: normal approximation, above about 400 differences only
};

/// Equal magnitudes share the mean of their ranks. Zeros are ranked with the others and then left
/// out of the sum (Pratt 1959): dropping them before the ranking can turn the test against what the
/// differences show. Exact: the distribution is counted over all 2^n signs of the ranks that the
/// differences have, by dynamic programming. Without a difference other than zero every p is 1.
[[nodiscard]] SignedRank signed_rank(std::span<const double> differences);

/// 2^-n: the smallest one-sided p that n pairs can reach.
[[nodiscard]] double smallest_paired_p(std::size_t n);

/// Fewest pairs whose smallest_paired_p is <= `level`, which is above 0.
[[nodiscard]] std::size_t pairs_needed(double level);

/// Largest w with P(W <= w) <= `level` for n differences without ties; none when not even 0 is. n
/// is at most 400.
[[nodiscard]] std::optional<std::size_t> critical_signed_rank(std::size_t n, double level);

/// Hodges-Lehmann estimate: the median of the means of all pairs of values, each value with itself
/// included. Not empty.
[[nodiscard]] double hodges_lehmann(std::span<const double> values);

/// Change from the first to the second of each pair: exp(hodges_lehmann(log ratios)) - 1, with the
/// interval that belongs to the signed-rank test: all changes that the two-sided test does not
/// rule out. No interval where all pairs together cover less than `confidence` (fewer than 6 for
/// 95 %).
struct PairedChange {
  double change = 0;
  std::optional<Interval> interval;
};
[[nodiscard]] PairedChange paired_change(std::span<const double> log_ratios,
                                         double confidence = 0.95);

}  // namespace bertbench
