#include "parsers/bars/step_lines.h"

#include <algorithm>
#include <cmath>

#include "parsers/runs/run_builder.h"
#include "parsers/text/cursor.h"

namespace bertbench {

bool StepLines::see(const Line& line, RunDraft* run) {
  Cursor cursor(line);
  if (!cursor.skip_past("Step:")) return false;
  cursor.blanks();
  const auto step = cursor.integer();
  cursor.blanks();
  if (!step || !cursor.literal("Average Loss = ")) return false;
  const auto average = cursor.number();
  if (!average) return true;  // cut by the end of input
  if (first_step_ == 0) first_step_ = *step;
  if (run == nullptr || run->last() == nullptr) {
    early_nan_ |= !std::isfinite(*average);
    return true;
  }
  run->log.iteration_unit = IterationUnit::micro_step;
  const std::int64_t counter = run->last()->step;
  if (*step == last_step_) return true;  // another rank's copy
  // The counter of another bar says nothing of this one's records.
  if (joined_ == nullptr || joined_ == run) run->join_records_after(joined_up_to_);
  joined_ = run;
  if (last_step_ > 0) last_interval_ = *step - last_step_;
  if (joined_up_to_ == 0) {
    first_marked_step_ = *step;
    first_marked_counter_ = counter;
  }
  joined_up_to_ = counter;
  last_step_ = *step;
  double loss = *average;
  if (cursor.skip_past("Step Loss = ")) loss = cursor.number().value_or(loss);
  run->set_loss(loss, line.number);
  return true;
}

void StepLines::start_over() {
  first_marked_step_ = first_marked_counter_ = 0;
  joined_up_to_ = last_step_ = first_step_ = 0;
  joined_ = nullptr;
}

void StepLines::conclude(RunDraft& run, Facts& facts) const {
  if (joined_ == &run) run.join_records_after(joined_up_to_);
  if (last_step_ > 0 && last_step_ >= first_step_) {
    Totals& totals = run.log.totals;
    totals.optimizer_steps = last_step_ - first_step_ + std::max<std::int64_t>(1, last_interval_);
    totals.last_optimizer_step = last_step_;
    totals.first_optimizer_step = last_step_ - *totals.optimizer_steps;
  }
  // Micro-steps per optimizer step, where the log does not say: the bar may lag by a redraw, so
  // only a ratio that comes out whole over several steps counts.
  const std::int64_t steps = last_step_ - first_marked_step_;
  if (first_marked_step_ > 0 && steps >= 5) {
    const double ratio =
        static_cast<double>(joined_up_to_ - first_marked_counter_) / static_cast<double>(steps);
    const double whole = std::round(ratio);
    if (whole >= 1 && std::abs(ratio - whole) <= 0.01 * whole) {
      facts.gradient_accumulation_steps.set(std::llround(whole), FactSource::log);
    }
  }
  if (early_nan_ && !run.log.first_nan_step) run.log.first_nan_step = 1;
}

}  // namespace bertbench
