// Pairs: two variants of one cell measured in turn, judged by the ratios of their rates.
//
// What slows or speeds both halves of a pair (the day, the node, a neighbour, drift) is no part of
// their ratio. What hits one half alone is, and with ten pairs a single hit decides the rank test:
// hit_pairs() finds it by the halves themselves.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "reports/stats/signed_rank.h"

namespace bertbench {

/// Pairs of a cell that are judged: the interval of the change looks at each mean of two of them.
inline constexpr std::size_t kMostPairs = 1000;

/// Natural logarithms of the rates of both halves, pair by pair.
struct LogPairs {
  std::vector<double> base, now;

  [[nodiscard]] std::size_t size() const { return base.size(); }
};

/// Pairs of which one half was hit by something that slows a trial: it lies more than 3.5 robust
/// standard deviations below the median of its own variant (the modified z-score of Iglewicz and
/// Hoaglin 1993). `shared` is what all cells gained or lost in the block of each pair, as a
/// logarithm, and is taken off before; of a single cell that is the mean of its own two halves.
/// None are named where they would be more than a third of all, or one variant is hit clearly more
/// often than the other (exact two-sided sign test at 0.05): then they are no accidents but how the
/// cell or that variant behaves. Fewer than 6 pairs name none.
[[nodiscard]] std::vector<bool> hit_pairs(const LogPairs& pairs, std::span<const double> shared);

struct PairTest {
  std::size_t n = 0;                  ///< pairs
  PairedChange change;                ///< from base to now: negative = slower
  double p_slower = 1, p_faster = 1;  ///< exact, one-sided, signed rank
  /// Whether any signs of the ratios could make a loss (a gain) beyond the floor. Where none could,
  /// the cell cannot be a false alarm, and Holm's correction need not count it (Tarone 1990): the
  /// magnitudes are independent of the signs, which alone are random for the test.
  bool could_lose = false, could_gain = false;
  /// The floor is 2.1 standard errors of the change or more (by its interval), so that it guards
  /// against chance where it can. Where it is not, the level of the test has to do it alone.
  bool guarded = false;
};

/// The share of alpha at which a cell is tested: 1, or a fifth where the floor does not guard it,
/// so that noisy cells are no more often a false alarm than quiet ones.
[[nodiscard]] inline double share_of_alpha(const PairTest& test) { return test.guarded ? 1 : 0.2; }

/// `log_ratios`: ln(now / base) of the pairs that count, not empty. `floor`: smallest change that
/// matters, as a fraction.
[[nodiscard]] PairTest test_pairs(std::span<const double> log_ratios, double floor);

/// A grid of pairs before it is measured.
struct PairModel {
  std::size_t pairs = 10, cells = 1;
  double noise = 0;  ///< sd of a half, as a fraction: what its pair does not share
  double alpha = 0.05, floor = 0.013;  ///< as of the gate
};

/// Probability that a cell whose rate falls by `loss` is a regression, simulated: normal halves, no
/// hits, Holm's first step over all cells. Standard error at most 0.5 / sqrt(draws).
[[nodiscard]] double paired_power(const PairModel& model, double loss, int draws = 2000);

/// Fewest pairs that find `loss` with probability `power`; none when `most` are not enough.
[[nodiscard]] std::optional<std::size_t> pairs_for_loss(PairModel model, double loss,
                                                        double power = 0.95, std::size_t most = 200,
                                                        int draws = 2000);

}  // namespace bertbench
