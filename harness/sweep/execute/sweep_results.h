// SweepResults: what was measured of each trial so far, as the result set, results.json and the
// report of the sweep.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "harness/sweep/execute/measure_attempt.h"
#include "harness/sweep/execute/open_sweep.h"
#include "harness/sweep/execute/placement_labels.h"
#include "harness/sweep/plan/pair_stopping.h"

namespace bertbench {

class SweepResults {
 public:
  SweepResults(const OpenSweep& sweep, const PlacementLabels& placement)
      : sweep_(sweep), placement_(placement), rule_(stopping_rule_for(sweep.plan)) {}

  /// Whether another attempt of the trial is to be launched.
  enum class Retry { none, pending };
  /// Makes this attempt the one that counts for its trial.
  const Trial& keep(const PlannedTrial& trial, MeasuredAttempt measured, Retry retry);
  /// With trials "auto": the cell has been measured often enough.
  [[nodiscard]] bool settled(std::size_t cell) const;
  /// The cells that are settled since a trial of `cell` was kept: pairs of several end at one look.
  [[nodiscard]] std::vector<std::size_t> settled_with(std::size_t cell);
  /// results.json as of now. Journal and logs are the truth: unless `always`, the file may lag a
  /// little when writing it gets expensive.
  Result<void> write(bool always);
  /// Results and report, and how the trials of this start came out.
  [[nodiscard]] Result<SweepOutcome> finish(bool interrupted);

 private:
  [[nodiscard]] ResultSet collect() const;
  void count_failures(SweepOutcome& out) const;
  /// Null where the trial is not kept or will be tried again.
  [[nodiscard]] const Trial* decided(std::size_t cell, int trial) const;
  /// With rule_: the cell can give no number, so it takes part in no pair.
  [[nodiscard]] bool hopeless(std::size_t cell) const;
  void look_at_pairs();

  const OpenSweep& sweep_;
  const PlacementLabels& placement_;
  std::map<std::pair<std::size_t, int>, MeasuredAttempt> kept_;  // (cell, trial)
  std::set<std::pair<std::size_t, int>> pending_;  // those of kept_ that are to be tried again
  std::optional<StoppingRule> rule_;
  /// What the looks of rule_ that were taken so far have ended; they are taken when asked for.
  std::size_t looks_ = 0;
  std::set<std::size_t> ended_points_;
  std::set<std::size_t> given_out_;  // cells that settled_with() has named
  std::chrono::steady_clock::time_point written_{};
  double write_cost_s_ = 0;
};

}  // namespace bertbench
