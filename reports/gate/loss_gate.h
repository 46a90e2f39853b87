// Losses of a cell against those of its baseline: a faster program must still be the same training.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "parsers/core/notice.h"
#include "reports/gate/verdict.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct LossVerdict {
  Verdict verdict = Verdict::pass;  ///< pass or regression
  /// The first with a loss that is not finite, or from which the curves are apart.
  std::optional<std::int64_t> step;
  std::optional<double> now, before;  ///< losses at that step, where the curves differ
  double tolerance = 0;               ///< share of the loss; 0 = no curves were compared
  std::int64_t steps_compared = 0;    ///< of all trials together
  Notice reason;
};

/// Share by which losses of one seed and data may differ in this precision before anything is
/// wrong: docs/gate.md has what was measured. An unknown precision is taken as the coarsest.
[[nodiscard]] double loss_tolerance(const std::optional<std::string>& precision);

/// What keeps curves from being compared although both sides have them.
enum class SameWork {
  yes,
  arguments_differ,
  not_comparable,
  not_asked,
  last_step_differs,  ///< LossRecord::planned_step: a decay may end with it
  interval_differs,   ///< LossRecord::every: a printed loss may be a mean
};

/// `base`: the newest run that holds the cell, or null. A regression where a larger share of trials
/// than in `base` has a loss that is not finite; else where `work` is `yes` and a trial's losses
/// (LossRecord::at) leave those of the baseline's trials of one seed: further from their median
/// than the tolerance, 3 times their own range at that step, and one digit of what the logs print;
/// in a third of all steps compared, and in half of those from the step on that the verdict names.
/// Trials that both state another last step or interval of print than it are left out.
/// Trials whose seed is not known are taken as of one seed where those of `base`, two or more,
/// agree within the tolerance. Absent where the cell's trials state no loss.
[[nodiscard]] std::optional<LossVerdict> judge_loss(const Cell& now, const Cell* base,
                                                    SameWork work);

}  // namespace bertbench
