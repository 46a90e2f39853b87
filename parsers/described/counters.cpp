#include "parsers/described/counters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "parsers/described/stated_facts.h"

namespace bertbench {
namespace {

constexpr std::int64_t kLargestStep = 1'000'000'000'000;

}  // namespace

std::optional<std::int64_t> StepCounter::epoch_of(const Printed& printed) const {
  if (printed.epoch || !printed.wraps) return printed.epoch;
  const bool over = printed.step < printed_ && printed_ + stride_ >= epoch_steps_;
  return std::max<std::int64_t>(epoch_, 0) + (over ? 1 : 0);
}

std::int64_t StepCounter::base_of(const Printed& printed) const {
  const auto epoch = epoch_of(printed);
  if (!epoch || epoch_ < 0 || *epoch == epoch_) return base_;
  // A number beyond the newest goes on through epochs.
  if (epoch_steps_ < 1) return printed.step + shift_of(printed) > newest_ - base_ ? base_ : newest_;
  return base_ + epoch_steps_ * std::min(*epoch - epoch_, kLargestStep / epoch_steps_);
}

std::int64_t StepCounter::shift_of(const Printed& printed) const {
  if (printed.from == CountsFrom::first) return shift_.value_or(printed.step == 0 ? 1 : 0);
  return printed.from == CountsFrom::zero ? 1 : 0;
}

std::optional<std::int64_t> StepCounter::step_of(const Printed& printed) const {
  if (printed.epoch && *printed.epoch < epoch_) return std::nullopt;
  return base_of(printed) + std::min(printed.step, kLargestStep) + shift_of(printed);
}

bool StepCounter::leaves_unknown_steps(const Printed& printed) const {
  const auto epoch = epoch_of(printed);
  // One step further, as where each is printed, none is left out.
  return epoch && epoch_ >= 0 && *epoch != epoch_ && epoch_steps_ < 1 && stride_ > 1 &&
         base_of(printed) == newest_;
}

void StepCounter::move_to(const Printed& printed) {
  const std::int64_t step = step_of(printed).value_or(0);
  if (!shift_) shift_ = printed.step == 0 ? 1 : 0;
  if (const auto epoch = epoch_of(printed)) {
    if (epoch_ < 0) first_epoch_ = *epoch;
    if (epoch_ >= 0 && *epoch > epoch_) {
      lines_steps_ = newest_ - base_;
      const bool longer = lines_steps_ > 0 && epoch_steps_ > lines_steps_;
      epochs_per_seen_ =
          longer ? static_cast<double>(epoch_steps_) / static_cast<double>(lines_steps_) : 1;
      // Whole epochs between the two count as base_of counts their steps.
      if (epoch_steps_ > 0) epochs_per_seen_ *= static_cast<double>(*epoch - epoch_);
    }
    base_ = base_of(printed);
    epoch_ = *epoch;
    epoch_steps_ = printed.epoch_steps.value_or(0);
  }
  if (printed.step > printed_) stride_ = printed.step - printed_;
  printed_ = printed.step;
  newest_ = std::max(newest_, step);
}

std::optional<std::int64_t> StepCounter::end_of(std::int64_t epochs) const {
  const std::int64_t each = epoch_steps_ > 0 ? epoch_steps_ : lines_steps_;
  const bool from_start = first_epoch_ == 0 || first_epoch_ == 1;
  const std::int64_t left = epochs - (epoch_ - first_epoch_);
  if (epoch_ < 0 || !from_start || each < 1 || left < 1) return std::nullopt;
  return base_ + each * std::min(left, kLargestStep / each);
}

std::optional<std::int64_t> StepCounter::end_of_epoch(std::int64_t epoch) const {
  if (epoch != epoch_ || epoch_steps_ < 1) return std::nullopt;
  return base_ + epoch_steps_;
}

void CounterFacts::take_updates(std::int64_t updates, std::optional<std::int64_t> micro_steps,
                                std::int64_t step) {
  // Two counters of one line that both count from 0; else only their differences are comparable.
  const Pair before = micro_steps ? Pair{0, 0} : updates_;
  const std::int64_t at = micro_steps.value_or(step);
  updates_ = {updates, at};
  if (before.count < 0 || updates <= before.count || at <= before.step) return;
  const std::int64_t each = (at - before.step) / (updates - before.count);
  const bool whole = (at - before.step) % (updates - before.count) == 0;
  if (micro_steps) {
    if (whole) accumulation_ = each;
    return;
  }
  unsteady_ = unsteady_ || !whole || (accumulation_ && *accumulation_ != each);
  accumulation_ = each;
}

void CounterFacts::take_sequences(std::int64_t done, std::int64_t step) {
  const Pair before = std::exchange(sequences_, {done, step});
  if (before.count < 0 || done <= before.count || step <= before.step) return;
  if ((done - before.count) % (step - before.step) != 0) return;
  batch_ = (done - before.count) / (step - before.step);
}

void CounterFacts::apply(Facts& facts) const {
  if (unsteady_) {
    facts.gradient_accumulation_steps = {};
  } else if (accumulation_ && *accumulation_ <= kLargestFact) {
    facts.gradient_accumulation_steps.set(*accumulation_, FactSource::log);
  }
  if (batch_ && *batch_ <= kLargestFact && !facts.global_batch_size.known()) {
    facts.global_batch_size.set(*batch_, FactSource::log);
  }
}

void PausedClock::note_evaluation() {
  evaluated_ = true;
  clock_.note_evaluation();
}

void PausedClock::next(std::int64_t step) {
  held_ = std::exchange(evaluated_, false);
  ever_held_ = ever_held_ || held_;
  iterations_ = step_ < 0 ? 0 : static_cast<double>(step - step_);
  step_ = step;
}

double PausedClock::at(double stamp_s) {
  const double took = stamp_s - std::exchange(stamp_s_, stamp_s);
  if (!held_ && iterations_ > 0) each_s_ = took / iterations_;
  return clock_.at(stamp_s, each_s_ * iterations_);
}

double PausedClock::of_interval(double seconds) {
  if (!held_ && iterations_ > 0) each_of_interval_s_ = seconds / iterations_;
  const double own = each_of_interval_s_ * iterations_;
  if (!held_ || !(seconds > own || std::isnan(own))) return seconds;
  shortened_ = true;
  return own;
}

}  // namespace bertbench
