// Power of the gate: which losses a grid could show at a given noise, before it is measured.
//
// The gate's decision is simulated as `check` takes it: exact one-sided Mann-Whitney at the level
// of the first Holm step (alpha / cells), and a median that is lower by more than the tolerance.
// Trials are normal about their run's mean; each stored run has a mean of its own. Draws are the
// same at every call and for every loss, so results repeat and power never falls with the loss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bertbench {

// The noise of a baseline, from which the gate's tolerance and its forecast power follow.

/// Newest stored runs that make a baseline: what is judged is held against the median of their
/// medians.
inline constexpr std::size_t kRunsOfBaseline = 5;
/// Newest stored runs that give the noise of a cell, those of the baseline among them.
inline constexpr std::size_t kRunsOfHistory = 20;
/// Runs that a baseline needs before the spread of their medians is its noise.
inline constexpr std::size_t kRunsForNoise = 3;

struct GateNoise {
  double share = 0;       ///< three standard deviations, as a fraction of the rate
  std::size_t steps = 0;  ///< steps of the history that it is of; 0: of the baseline's spread
};

/// `history`: the median of each run, oldest first; the last kRunsOfBaseline are those of the
/// baseline. `pooled`: the baseline's trials. Neither is empty.
///
/// A step is how far a run was from the median of the up to five runs before it (at least 3), which
/// is what the gate looks at when the next run comes. From 5 steps on the noise is 3 x their root
/// mean square, so that it holds how runs differ over days as well; steps larger than 4 x 1.4826 x
/// their median size are changes of the program and left out. Of a shorter history it is 3 sd of
/// the medians over their median, of fewer than kRunsForNoise runs 3 x 1.4826 MAD of the trials
/// over their median.
[[nodiscard]] GateNoise gate_noise(std::span<const double> pooled, std::span<const double> history);

struct GateModel {
  std::size_t trials = 5;             ///< of the cell in the new run
  std::size_t base_trials = 5;        ///< in each baseline run
  std::size_t base_runs = 1;          ///< 1: a file; at most kRunsOfBaseline of a store
  std::size_t cells = 1;              ///< compared at once, for Holm
  double noise = 0;                   ///< sd of trials within a run, as a fraction of the rate
  double run_noise = 0;               ///< sd of the means of runs, as a fraction
  double alpha = 0.05, floor = 0.02;  ///< as GateOptions
};

/// P(U <= u) for u = 0 .. n*m of the Mann-Whitney statistic without ties, no difference.
[[nodiscard]] std::vector<double> u_distribution(std::size_t n, std::size_t m);

/// Probability that a cell whose rate falls by `loss` (a fraction in [0, 1)) is a regression.
/// Standard error at most 0.5 / sqrt(draws).
[[nodiscard]] double detection_power(const GateModel& gate, double loss, int draws = 4000);

/// Smallest loss found with probability `power`; none when the trials cannot reach the level of
/// the first Holm step, or when not even a loss of one half would show.
[[nodiscard]] std::optional<double> smallest_loss(const GateModel& gate, double power = 0.9,
                                                  int draws = 2000);

/// Fewest trials (as many in each baseline run) that find `loss` with probability `power`; none
/// when `most` are not enough, as when the tolerance is above the loss.
[[nodiscard]] std::optional<std::size_t> trials_for_loss(GateModel gate, double loss,
                                                         double power = 0.9, std::size_t most = 200,
                                                         int draws = 2000);

}  // namespace bertbench
