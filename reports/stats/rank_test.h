// Exact rank statistics of two small samples: Mann-Whitney with ties, Hodges-Lehmann shift.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "reports/model/result_set.h"

namespace bertbench {

/// P values of the Mann-Whitney test given the pooled values as they are (midranks for ties).
struct MannWhitney {
  double u = 0;            ///< pairs with a < b, ties half
  double p_less = 1;       ///< P(U <= u | no difference): small when `a` is larger than `b`
  double p_greater = 1;    ///< P(U >= u | no difference): small when `b` is larger than `a`
  double p_two_sided = 1;  ///< min(1, 2 min(p_less, p_greater))
  bool exact = true;  ///< false: normal approximation (ties, continuity), above kExactWork only
};

/// Both samples must not be empty. Exact: the conditional distribution of the rank sum is counted
/// over all C(n+m, n) splits of the pooled midranks by dynamic programming. When that would take
/// more than ~10^8 steps (about 100 against 100) the normal approximation is used and `exact` is
/// false.
[[nodiscard]] MannWhitney mann_whitney(std::span<const double> a, std::span<const double> b);

/// 1 / C(n+m, n): the smallest one-sided p that n and m trials without ties can reach.
[[nodiscard]] double smallest_p(std::size_t n, std::size_t m);

/// Smallest n (n trials a side if `m` is 0, else n against m) whose smallest_p is <= `level`;
/// 0 when no n up to 1000 is enough.
[[nodiscard]] std::size_t trials_needed(double level, std::size_t m = 0);

/// Ranks (1-based) in the n*m sorted pairwise differences of the narrowest symmetric interval of
/// the shift with at least `confidence`; none when all differences together cover less.
struct ShiftRanks {
  std::size_t low = 0, high = 0;
  double coverage = 0;
};
[[nodiscard]] std::optional<ShiftRanks> shift_ranks(std::size_t n, std::size_t m,
                                                    double confidence = 0.95);

/// Hodges-Lehmann shift from `base` to `sample` on the log scale, as a relative change:
/// exp(median of ln(s/b) over all pairs) - 1, with its exact order-statistic interval.
struct Shift {
  double change = 0;
  std::optional<Interval> interval;
};
/// Values must be > 0 and both samples not empty.
[[nodiscard]] Shift relative_shift(std::span<const double> base, std::span<const double> sample,
                                   double confidence = 0.95);

}  // namespace bertbench
