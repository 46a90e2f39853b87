#include "reports/measure/rate_notices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "parsers/core/notice.h"
#include "reports/stats/clock.h"

namespace bertbench {
namespace {

/// How many times as much the larger of two rates is. Beyond a milliard one of them is none, and
/// "inf times" would say no more.
double times_apart(double ratio) { return std::min(std::max(ratio, 1 / ratio), 1e9); }

std::string rate_with_unit(const Estimate& estimate) {
  return fmt::format("{:.6g} {}", estimate.rate, name(estimate.unit));
}

const Estimate* find_like(std::span<const Estimate> estimates, std::string_view estimator,
                          const Estimate& chosen) {
  const auto at = std::ranges::find(estimates, estimator, &Estimate::name);
  return at != estimates.end() && at->unit == chosen.unit ? &*at : nullptr;
}

// A bar smooths its rates, and a mean of rates is above work over time: what the bar's own clock
// states is reported where it is far from them.
void say_clock_of_bar(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kClockGap = 0.05;
  constexpr double kOtherSteps = 0.02;  // the clock's marks lie inside the window
  const Estimate* clock = find_like(estimates, "counter_clock", chosen);
  if (clock == nullptr) return;
  const double gap = clock->rate / chosen.rate - 1;
  if (std::abs(gap) < std::max(kClockGap, clock->resolution + kOtherSteps)) return;
  trial.notices.push_back(make_notice(NoticeCode::bar_clock_differs, 0, 100 * std::abs(gap),
                                      gap < 0 ? "lower" : "higher", rate_with_unit(*clock)));
}

// The clock of a bar was taken and its printed rates are out of what that allows: they are those of
// the newest steps, not of the window.
void say_rates_of_bar(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kClosingRateGap = 0.05, kErrorsApart = 2;
  if (!chosen.whole_seconds) return;
  const Estimate* bar = find_like(estimates, "printed_last", chosen);
  if (bar == nullptr) return;
  const double gap = bar->rate / chosen.rate - 1;
  if (std::abs(gap) < std::max(kClosingRateGap, kErrorsApart * chosen.error)) return;
  trial.notices.push_back(make_notice(NoticeCode::bar_rates_differ, 0, 100 * std::abs(gap),
                                      gap < 0 ? "lower" : "higher", rate_with_unit(*bar)));
}

// The log's own closing rate is reported where it is far from the rate that is used: 5 % from
// printed ones. Times may rightly differ from it by evaluation and saving; twice as much is another
// batch.
void say_closing_rate(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kStatedRateGap = 0.05;
  constexpr double kApart = 2;
  const Estimate* closing = find_like(estimates, "log_summary", chosen);
  if (closing == nullptr || closing->rate == chosen.rate) return;
  // The reader says it where it knows the sequences of the log's steps.
  const auto is_told = [](const Notice& notice) {
    return notice.code == NoticeCode::closing_rate_contradicted ||
           notice.code == NoticeCode::closing_rate_of_best_epoch;
  };
  if (std::ranges::any_of(trial.notices, is_told)) return;
  const double ratio = closing->rate / chosen.rate;
  if (chosen.name.starts_with("printed")) {
    if (std::abs(ratio - 1) < kStatedRateGap) return;
    trial.notices.push_back(make_notice(NoticeCode::closing_rate_differs, 0,
                                        100 * std::abs(ratio - 1), ratio < 1 ? "lower" : "higher",
                                        rate_with_unit(*closing)));
  } else if (times_apart(ratio) >= kApart) {
    trial.notices.push_back(make_notice(NoticeCode::closing_rate_far_off, 0,
                                        rate_with_unit(*closing), times_apart(ratio),
                                        ratio > 1 ? "much" : "little", chosen.name));
  }
}

// Times that the log states are one thing, what its clock shows another: a timer that was not
// reset, or steps that the counter leaves out.
void say_other_clock(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kApart = 1.5;
  constexpr double kCoarsestClock = 0.1;  // resolution, as a share of the rate
  const Estimate* clock = find_like(estimates, "counter_clock", chosen);
  if (clock == nullptr || clock->resolution > kCoarsestClock) return;
  const double ratio = clock->rate / chosen.rate;
  if (!(times_apart(ratio) >= kApart)) return;
  const bool faster = ratio > 1;  // the clock holds less than the steps take
  trial.notices.push_back(make_notice(NoticeCode::clock_differs_from_steps, 0, times_apart(ratio),
                                      faster ? "high" : "low", clock->rate,
                                      faster ? "long first steps, which the clock begins after"
                                             : "evaluation, saving or loading between the steps"));
}

// The clock holds what lies between the lines, the rates on them do not.
void say_printed_rates(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kEvaluationGap = 0.05;
  constexpr double kOtherSteps = 0.02;
  const Estimate* printed = find_like(estimates, "printed", chosen);
  if (printed == nullptr) return;
  const double gap = printed->rate / chosen.rate - 1;
  if (!(gap >= std::max(kEvaluationGap, chosen.resolution + kOtherSteps))) return;
  trial.notices.push_back(
      make_notice(NoticeCode::printed_rates_above_clock, 0, 100 * gap, rate_with_unit(*printed)));
}

// One step that took much longer than its line says, or a counter that jumped between two lines,
// stands in the times of all steps and hardly in the mean of the rates.
void say_rates_beside_times(std::span<const Estimate> estimates, const Estimate& chosen,
                            Trial& trial) {
  constexpr double kApart = 1.5;
  const Estimate* printed = find_like(estimates, "printed", chosen);
  if (printed == nullptr) return;
  const double ratio = printed->rate / chosen.rate;
  if (!(times_apart(ratio) >= kApart)) return;
  trial.notices.push_back(make_notice(NoticeCode::printed_rates_far_off, 0,
                                      rate_with_unit(*printed), times_apart(ratio),
                                      ratio > 1 ? "much" : "little"));
}

// What the log states against the time at which its lines came, which it cannot state.
void say_arrival(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kGap = 0.05, kErrorsApart = 3;
  const Estimate* arrival = find_like(estimates, "arrival", chosen);
  if (arrival == nullptr || arrival->misleads) return;
  for (const std::string_view stated :
       {chosen.name, std::string_view("printed"), std::string_view("printed_last")}) {
    const Estimate* other = find_like(estimates, stated, chosen);
    if (other == nullptr || other == arrival) continue;
    // The error of a printed rate holds what it is off the clocks by.
    const double own = other->name.starts_with("printed") ? 0 : other->error;
    const double allowed = kErrorsApart * std::hypot(arrival->error, std::isnan(own) ? 0 : own);
    const double gap = other->rate / arrival->rate - 1;
    if (std::abs(gap) < std::max(kGap, allowed)) continue;
    trial.notices.push_back(make_notice(NoticeCode::arrival_differs, 0, other->name,
                                        100 * std::abs(gap), gap < 0 ? "lower" : "higher",
                                        rate_with_unit(*arrival)));
    return;
  }
}

}  // namespace

void report_clock_jump(const RunLog& log, const Window& window, Trial& trial) {
  const auto jump = clock_jump(log, window);
  if (!jump) return;
  trial.notices.push_back(make_notice(NoticeCode::clock_jumped, log.records[jump->record].line,
                                      jump->seconds, jump->times));
}

void say_other_rates(std::span<const Estimate> estimates, const Estimate& chosen,
                     std::size_t records, Trial& trial) {
  // Of fewer records, single steps make the difference.
  constexpr std::size_t kRecordsForAVerdict = 4;
  if (chosen.name == "step_time" && records >= kRecordsForAVerdict) {
    say_other_clock(estimates, chosen, trial);
    say_rates_beside_times(estimates, chosen, trial);
  }
  if (chosen.name.starts_with("printed")) say_clock_of_bar(estimates, chosen, trial);
  if (chosen.name == "counter_clock") say_rates_of_bar(estimates, chosen, trial);
  if (chosen.name == "counter_clock" && records >= kRecordsForAVerdict) {
    say_printed_rates(estimates, chosen, trial);
  }
  // Tokens of 100,000 GPUs at a million a second each.
  constexpr double kMostPerSecond = 1e11;
  if (chosen.rate > kMostPerSecond) {
    trial.notices.push_back(make_notice(NoticeCode::rate_implausible, 0, rate_with_unit(chosen)));
  }
  say_closing_rate(estimates, chosen, trial);
  say_arrival(estimates, chosen, trial);
}

}  // namespace bertbench
