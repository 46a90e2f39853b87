// How the trials of a cell ended against those of its baseline: the rate of a trainer that crashes
// after its window is as good as ever. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "parsers/core/notice.h"
#include "reports/gate/verdict.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// Trials that ended badly (ended_badly()), of all trials, whether they count or not.
struct OutcomeVerdict {
  Verdict verdict = Verdict::pass;  ///< pass or regression
  int failed_now = 0, trials_now = 0;
  int failed_base = 0, trials_base = 0;  ///< of all runs of the baseline that hold the cell
  std::string outcomes;                  ///< of those that failed now: "error x6"
  int first_trial = 0;                   ///< the first of them, where its log shows the end
  std::string first_log;                 ///< "cell/trial_1/log.txt, line 40"
  Notice reason;
};

/// Counts both sides. Absent where no trial failed on either, or `base` is empty: a cell that is
/// new has nothing that it could have become worse than.
[[nodiscard]] std::optional<OutcomeVerdict> count_outcomes(const Cell& now,
                                                           std::span<const Cell* const> base);

/// Failures on both sides: whether one has more of them than chance gives takes a test.
[[nodiscard]] bool failed_on_both_sides(const OutcomeVerdict& counts);

/// A regression where trials failed and none of the baseline did; where all failed and some of the
/// baseline did not; or where Fisher's exact one-sided test finds the larger share at `level`.
void judge_outcomes(OutcomeVerdict& counts, double level);

}  // namespace bertbench
