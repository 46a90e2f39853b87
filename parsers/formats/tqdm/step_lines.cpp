#include "parsers/formats/tqdm/step_lines.h"

#include <algorithm>
#include <cmath>

#include "parsers/assemble/run_builder.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

// bing_bert counts the sequences of all ranks.
void StepLines::see_samples(std::int64_t step, std::int64_t samples) {
  constexpr std::int64_t kSampleLimit = 1'000'000'000'000;
  if (step <= last_step_ || samples < 1 || samples > kSampleLimit || batch_ < 0) return;
  const std::int64_t more = samples - samples_, steps = step - last_step_;
  const bool known = last_step_ > 0 || more % steps == 0;
  samples_ = samples;
  if (!known) return;
  const bool whole = more > 0 && more % steps == 0;
  const std::int64_t each = whole ? more / steps : -1;
  batch_ = batch_ == 0 || batch_ == each ? each : -1;
}

std::optional<StepLines::Said> StepLines::read(const Line& line) {
  Cursor cursor(line);
  if (cursor.skip_past("bing_bert_progress: step=")) {
    const auto step = cursor.integer();
    if (!step || *step < 1 || !cursor.literal(", loss=")) return std::nullopt;
    const auto loss = cursor.number();
    if (cursor.skip_past(", sample_count=")) {
      if (const auto samples = cursor.integer()) see_samples(*step, *samples);
    }
    return Said{*step, loss};
  }
  Cursor total(line);
  if (total.skip_past("Total Steps:")) {  // "Total Steps:300.0 Final Loss = 7.53"
    const auto steps = total.number();
    if (!steps || !(*steps >= 1 && *steps < 1e12) || !total.skip_past(" Final Loss =")) {
      return std::nullopt;
    }
    last_step_ = std::max(last_step_, static_cast<std::int64_t>(*steps));
    return Said{last_step_, {}};
  }
  if (!cursor.skip_past("Step:")) return std::nullopt;
  cursor.blanks();
  const auto step = cursor.integer();
  cursor.blanks();
  if (!step || !cursor.literal("Average Loss = ")) return std::nullopt;
  auto loss = cursor.number();
  if (loss && cursor.skip_past("Step Loss = ")) loss = cursor.number().value_or(*loss);
  return Said{*step, loss};
}

bool StepLines::see(const Line& line, RunDraft* run) {
  const auto said = read(line);
  if (!said) return false;
  if (!said->loss) return true;
  const std::int64_t step = said->step;
  const double loss = *said->loss;
  if (first_step_ == 0) first_step_ = step;
  if (run == nullptr || run->last() == nullptr) {
    early_nan_ |= !std::isfinite(loss);
    return true;
  }
  run->log.iteration_unit = IterationUnit::micro_step;
  const std::int64_t counter = run->last()->step;
  if (step == last_step_) return true;  // another rank's copy
  // The counter of another bar says nothing of this one's records.
  if (joined_ == nullptr || joined_ == run) run->join_records_after(joined_up_to_);
  joined_ = run;
  if (last_step_ > 0) last_interval_ = step - last_step_;
  if (joined_up_to_ == 0) {
    first_marked_step_ = step;
    first_marked_counter_ = counter;
  }
  joined_up_to_ = counter;
  last_marked_step_ = step;
  last_step_ = step;
  run->set_loss(loss, line.number);
  return true;
}

void StepLines::start_over() {
  first_marked_step_ = first_marked_counter_ = last_marked_step_ = 0;
  samples_ = batch_ = 0;
  joined_up_to_ = last_step_ = first_step_ = 0;
  joined_ = nullptr;
}

// Micro-steps per optimizer step, where the log does not say: the bar may lag by a redraw, so only
// a ratio that comes out whole over several steps counts.
std::optional<std::int64_t> StepLines::per_step() const {
  const std::int64_t steps = last_marked_step_ - first_marked_step_;
  if (first_marked_step_ <= 0 || steps < 5) return std::nullopt;
  const double ratio =
      static_cast<double>(joined_up_to_ - first_marked_counter_) / static_cast<double>(steps);
  const double whole = std::round(ratio);
  if (whole < 1 || std::abs(ratio - whole) > 0.01 * whole) return std::nullopt;
  return std::llround(whole);
}

void StepLines::conclude(RunDraft& run, Facts& facts) const {
  if (joined_ == &run) run.join_records_after(joined_up_to_);
  if (last_step_ > 0 && last_step_ >= first_step_) {
    Totals& totals = run.log.totals;
    totals.optimizer_steps = last_step_ - first_step_ + std::max<std::int64_t>(1, last_interval_);
    totals.last_optimizer_step = last_step_;
    totals.first_optimizer_step = last_step_ - *totals.optimizer_steps;
  }
  if (batch_ > 0) facts.global_batch_size.set(batch_, FactSource::log);
  const auto each = per_step();
  if (each) facts.gradient_accumulation_steps.set(*each, FactSource::log);
  // The steps that the bar is short of, where both count from the same one on.
  const std::int64_t micro = last_step_ * each.value_or(1);
  const std::int64_t printed = std::max<std::int64_t>(1, last_interval_) * each.value_or(1);
  if (run.last() != nullptr && joined_ == &run && micro > run.last()->step &&
      micro - run.last()->step <= printed) {
    run.reached = micro;
  }
  if (early_nan_ && !run.log.first_nan_step) run.log.first_nan_step = 1;
}

}  // namespace bertbench
