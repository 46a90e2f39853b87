// Forecast: how long a sweep will take and which losses its grid could show, before it runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/plan/plan.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct CellForecast {
  std::string key;
  int trials = 0, done = 0;       ///< planned; of these finished in the run folder
  std::optional<double> seconds;  ///< of one trial; from its own trials, else from all cells'
  bool own_seconds = false;
  std::optional<double> noise;  ///< cv of its trials, n >= 2
};

struct LossForecast {
  std::string baseline;                 ///< "a file of one such run", "a store of five"
  std::optional<double> smallest_loss;  ///< found with `power`; none: cannot decide
  std::optional<std::size_t> trials_for_5, trials_for_3;  ///< that find 5 %, 3 %
};

/// Of a sweep with variants: what `check --paired` will find.
struct PairForecast {
  int pairs = 0;                           ///< of each cell, as planned
  double power_for_2 = 0;                  ///< with which they find a loss of 2 %
  std::optional<std::size_t> pairs_for_2;  ///< that find it with `power`; none: not 200
  double power = 0.95;
  /// With trials "auto": pairs that a cell takes on average, as it was and where it lost 2 %.
  std::optional<double> expected, expected_with_loss;
};

struct Forecast {
  std::vector<CellForecast> cells;
  int trials = 0, done = 0;
  int cells_timed = 0;                 ///< cells with seconds of their own
  std::optional<double> seconds_left;  ///< none: nothing of the grid has been timed
  double noise = 0;                    ///< cv that the losses are computed with
  int noise_cells = 0;                 ///< cells it is the median of; 0: it was assumed
  double power = 0.9;
  std::vector<LossForecast> losses;
  std::optional<PairForecast> pairs;  ///< absent without variants
};

/// Seconds and noise come from the run folder `out` (its journal and results.json) and from
/// `history` (earlier results; may be empty). `assumed_noise` is used where neither gives any.
[[nodiscard]] Forecast forecast(const Plan& plan, const std::string& out,
                                const std::vector<ResultSet>& history, double assumed_noise);

}  // namespace bertbench
