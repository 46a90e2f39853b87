#include "reports/measure/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "parsers/core/notice.h"
#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "reports/measure/deduced_facts.h"
#include "reports/measure/estimators.h"
#include "reports/measure/ranks.h"
#include "reports/measure/series_shape.h"
#include "reports/measure/tool_windows.h"
#include "reports/model/result_set.h"
#include "reports/stats/arrival_clock.h"
#include "reports/stats/clock.h"
#include "reports/stats/summary.h"
#include "reports/stats/window.h"

namespace bertbench {
namespace {

/// "15.78 GiB" at the beginning of `text`, in bytes.
std::optional<double> amount_at(std::string_view text) {
  constexpr double kMostBytes = 9e15;  // more is a damaged number
  // PyTorch's "MB" of before 1.8 is 2^20 too.
  constexpr std::pair<std::string_view, int> kPowers[] = {
      {" GiB", 30}, {" GB", 30}, {" MiB", 20}, {" MB", 20}, {" KiB", 10}, {" bytes", 0}, {" B", 0}};
  Cursor cursor(text, false);
  const auto number = cursor.number();
  for (const auto& [unit, power] : kPowers) {
    if (!number || !cursor.literal(unit)) continue;
    const double bytes = std::ldexp(*number, power);
    return bytes >= 0 && bytes < kMostBytes ? std::optional(bytes) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> amount_after(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  return at == std::string_view::npos ? std::nullopt : amount_at(text.substr(at + words.size()));
}

/// The amount whose text ends right before `words`: "15.78 GiB total capacity".
std::optional<double> amount_before(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  text = text.substr(0, at);
  return amount_at(text.substr(text.find_last_not_of("0123456789.", text.rfind(' ') - 1) + 1));
}

}  // namespace

std::optional<MemoryRecord> memory_of_failure(std::string_view text) {
  const auto record = [](double peak, double capacity) {
    return MemoryRecord{std::llround(peak), std::llround(capacity), "log"};
  };
  const auto needs = amount_after(text, " needs ");
  const auto available = amount_before(text, " are available");
  if (needs && available) return record(*needs, *available);
  const auto wanted = amount_after(text, "Tried to allocate ");
  auto capacity = amount_before(text, " total capacity");
  if (!capacity) capacity = amount_after(text, "total capacity of ");
  auto held = amount_before(text, " already allocated");
  if (!held) held = amount_before(text, " memory in use");
  if (wanted && capacity) return record(held.value_or(0) + *wanted, *capacity);
  return std::nullopt;
}

namespace {

// What the other estimates of a log show against the one that is used. "quoted/NAME" is a log in
// tests/golden/quoted, "corpus NAME" one of the collected logs that are not part of the project.

/// How many times as much the larger of two rates is. Beyond a milliard one of them is a damaged
/// number, and "inf times" would state no more.
double times_apart(double ratio) { return std::min(std::max(ratio, 1 / ratio), 1e9); }

std::string rate_with_unit(const Estimate& estimate) {
  return fmt::format("{:.6g} {}", estimate.rate, name(estimate.unit));
}

/// "5.1 % lower": `gap` of another estimate to the one that is used, as a share.
void add_gap(Trial& trial, NoticeCode code, double gap, const Estimate& other) {
  trial.notices.push_back(make_notice(code, 0, 100 * std::abs(gap), gap < 0 ? "lower" : "higher",
                                      rate_with_unit(other)));
}

const Estimate* find_like(std::span<const Estimate> estimates, std::string_view estimator,
                          const Estimate& chosen) {
  const auto at = std::ranges::find(estimates, estimator, &Estimate::name);
  return at != estimates.end() && at->unit == chosen.unit ? &*at : nullptr;
}

// A bar of tqdm smooths its rates, and a mean of rates is above work over time: what the bar's own
// clock states is reported where it is far from them.
void note_clock_of_bar(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kClockGap = 0.05;    // share of the rate
  constexpr double kOtherSteps = 0.02;  // the clock's marks lie inside the window
  const Estimate* clock = find_like(estimates, "counter_clock", chosen);
  if (clock == nullptr) return;
  const double gap = clock->rate / chosen.rate - 1;
  if (std::abs(gap) < std::max(kClockGap, clock->resolution + kOtherSteps)) return;
  add_gap(trial, NoticeCode::bar_clock_differs, gap, *clock);
}

// The clock of a tqdm bar was taken and its printed rates are out of what that allows: they are
// those of the newest steps, not of the window (corpus
// nvidia-dle-pytorch/lambda_8x2080ti_squad_base_fp16.log).
void note_rates_of_bar(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kClosingRateGap = 0.05, kErrorsApart = 2;  // share; expected errors
  if (!chosen.whole_seconds) return;
  const Estimate* bar = find_like(estimates, "printed_last", chosen);
  if (bar == nullptr) return;
  const double gap = bar->rate / chosen.rate - 1;
  if (std::abs(gap) < std::max(kClosingRateGap, kErrorsApart * chosen.error)) return;
  add_gap(trial, NoticeCode::bar_rates_differ, gap, *bar);
}

// The log's own closing rate is reported where it is far from the rate that is used: 5 % from
// printed ones (NVIDIA's ResNet, corpus nvidia-dle-pytorch/resnet50_v100_amp_gpu8.log: compute_ips
// and total_ips). Times may rightly differ from it by evaluation and saving; twice as much is
// mostly another batch, world size or accumulation.
void note_closing_rate(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kStatedRateGap = 0.05;  // share of the rate
  constexpr double kClosingFactor = 2;     // times
  const Estimate* closing = find_like(estimates, "log_summary", chosen);
  if (closing == nullptr) return;
  // The reader has reported it where it knows the sequences of the log's steps.
  const auto is_reported = [](const Notice& notice) {
    return notice.code == NoticeCode::closing_rate_contradicted ||
           notice.code == NoticeCode::closing_rate_of_best_epoch;
  };
  if (std::ranges::any_of(trial.notices, is_reported)) return;
  const double ratio = closing->rate / chosen.rate;
  if (chosen.name.starts_with("printed")) {
    if (std::abs(ratio - 1) < kStatedRateGap) return;
    add_gap(trial, NoticeCode::closing_rate_differs, ratio - 1, *closing);
  } else if (times_apart(ratio) >= kClosingFactor) {
    trial.notices.push_back(make_notice(NoticeCode::closing_rate_far_off, 0,
                                        rate_with_unit(*closing), times_apart(ratio),
                                        ratio > 1 ? "much" : "little", chosen.name));
  }
}

// Times that the log states are one thing, what its clock shows another: a timer that was not
// reset, or steps that the counter leaves out (mmcv with long first steps, corpus
// mmseg/hrnet_c32_fp16_mpirun.log; quoted/mindspore.tells_the_time_of_a_sink_by_the_stamps).
void note_other_clock(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kClockFactor = 1.5;    // times
  constexpr double kCoarsestClock = 0.1;  // resolution, as a share of the rate
  const Estimate* clock = find_like(estimates, "counter_clock", chosen);
  if (clock == nullptr || clock->resolution > kCoarsestClock) return;
  const double ratio = clock->rate / chosen.rate;
  if (!(times_apart(ratio) >= kClockFactor)) return;
  const bool faster = ratio > 1;  // the clock holds less than the steps take
  trial.notices.push_back(make_notice(NoticeCode::clock_differs_from_steps, 0, times_apart(ratio),
                                      faster ? "high" : "low", clock->rate,
                                      faster ? "long first steps, which the clock begins after"
                                             : "evaluation, saving or loading between the steps"));
}

// Times of steps that are longer than the log's clock allows were left out.
void note_refuted_times(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  const Estimate* steps = find_like(estimates, "step_time", chosen);
  if (steps == nullptr || !steps->misleads) return;
  trial.notices.push_back(make_notice(NoticeCode::clock_differs_from_steps, 0,
                                      times_apart(chosen.rate / steps->rate), "high", chosen.rate,
                                      "timers that nobody resets"));
}

// The clock holds what lies between the lines, the rates on them do not: Mask R-CNN's, in
// parsers/samples/maskrcnn.
void note_printed_rates(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kEvaluationGap = 0.05;  // share of the rate
  constexpr double kOtherSteps = 0.02;     // the clock's marks lie inside the window
  const Estimate* printed = find_like(estimates, "printed", chosen);
  if (printed == nullptr) return;
  const double gap = printed->rate / chosen.rate - 1;
  if (!(gap >= std::max(kEvaluationGap, chosen.resolution + kOtherSteps))) return;
  trial.notices.push_back(
      make_notice(NoticeCode::printed_rates_above_clock, 0, 100 * gap, rate_with_unit(*printed)));
}

// One step that took much longer than its line states, or a counter that jumped between two lines,
// is in the times of all steps and hardly in the mean of the rates
// (quoted/tf.reads_a_rate_without_a_step_by_its_clock).
void note_rates_next_to_times(std::span<const Estimate> estimates, const Estimate& chosen,
                              Trial& trial) {
  constexpr double kPrintedFactor = 1.5;  // times
  const Estimate* printed = find_like(estimates, "printed", chosen);
  if (printed == nullptr) return;
  const double ratio = printed->rate / chosen.rate;
  if (!(times_apart(ratio) >= kPrintedFactor)) return;
  trial.notices.push_back(make_notice(NoticeCode::printed_rates_far_off, 0,
                                      rate_with_unit(*printed), times_apart(ratio),
                                      ratio > 1 ? "much" : "little"));
}

// Compares what the log states with the time at which its lines came, which no log can falsify:
// trainers that a sweep or --follow watches.
void note_arrival(std::span<const Estimate> estimates, const Estimate& chosen, Trial& trial) {
  constexpr double kGap = 0.05, kErrorsApart = 3;  // share; expected errors
  const Estimate* arrival = find_like(estimates, "arrival", chosen);
  if (arrival == nullptr || arrival->misleads) return;
  for (const std::string_view stated :
       {chosen.name, std::string_view("printed"), std::string_view("printed_last"),
        std::string_view("step_time")}) {
    const Estimate* other = find_like(estimates, stated, chosen);
    if (other == nullptr) continue;
    // Times that are not taken are reported only where the arrivals are why.
    if (stated == "step_time" && stated != chosen.name && !other->misleads) continue;
    // The error of a printed rate includes its distance from the clocks.
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

// Adds a notice where counter_clock leaves out a jump of the clock.
void report_clock_jump(const RunLog& log, const Window& window, Trial& trial) {
  const auto jump = clock_jump(log, window);
  if (!jump) return;
  trial.notices.push_back(make_notice(NoticeCode::clock_jumped, log.records[jump->record].line,
                                      jump->seconds, jump->times));
}

// Adds notices to `trial` where the log's clock or its own closing rate is far from `chosen`,
// which is one of `estimates` (all in one unit). `records`: in the window.
void note_other_rates(std::span<const Estimate> estimates, const Estimate& chosen,
                      std::size_t records, Trial& trial) {
  // Of fewer records, single steps make the difference: notices would be about those.
  constexpr std::size_t kRecordsForAVerdict = 4;
  if (chosen.name == "step_time" && records >= kRecordsForAVerdict) {
    note_other_clock(estimates, chosen, trial);
    note_rates_next_to_times(estimates, chosen, trial);
  }
  if (chosen.name.starts_with("printed")) note_clock_of_bar(estimates, chosen, trial);
  if (chosen.name == "counter_clock") {
    note_refuted_times(estimates, chosen, trial);
    note_rates_of_bar(estimates, chosen, trial);
    if (records >= kRecordsForAVerdict) note_printed_rates(estimates, chosen, trial);
  }
  // Tokens of 100,000 GPUs at a million a second each.
  constexpr double kMostPerSecond = 1e11;
  if (chosen.rate > kMostPerSecond) {
    trial.notices.push_back(make_notice(NoticeCode::rate_implausible, 0, rate_with_unit(chosen)));
  }
  note_closing_rate(estimates, chosen, trial);
  note_arrival(estimates, chosen, trial);
}

struct Conversion {
  std::optional<std::int64_t> sequences_per_iteration, sequence_length;
  std::optional<double> tokens_per_iteration;  // by rates and times of the log's lines
};

// Lines that print tokens/s and their own time hold the tokens of an iteration, where these are as
// many in all of them: text without padding of nanoGPT, llm.c and nanochat, and gluon-nlp's
// translation (corpus mxnet/gluonnlp_transformer_ende.log).
std::optional<double> tokens_per_iteration(const RunLog& log, const Window& window) {
  if (log.rate_unit != RateUnit::tokens_per_second) return std::nullopt;
  constexpr double kRounding = 0.02;     // of a rate and a time with three digits each
  constexpr double kShareOfLines = 0.9;  // the others hold something else, such as a checkpoint
  std::vector<double> tokens;
  for (std::size_t i = window.first; i < window.last; ++i) {
    const Record& record = log.records[i];
    const double each =
        record.printed_rate * record.seconds / static_cast<double>(record.iterations);
    if (each > 0) tokens.push_back(each);
  }
  if (tokens.empty()) return std::nullopt;
  const double usual = median(tokens);
  const auto alike = std::ranges::count_if(
      tokens, [&](double each) { return std::abs(each - usual) <= kRounding * usual; });
  const auto all = static_cast<double>(tokens.size());
  if (static_cast<double>(alike) < kShareOfLines * all) return std::nullopt;
  return usual;
}

std::optional<double> in_sequences(const Estimate& estimate, const Conversion& facts) {
  switch (estimate.unit) {
    case RateUnit::sequences_per_second:
      return estimate.rate;
    case RateUnit::iterations_per_second:
      if (facts.sequences_per_iteration)
        return estimate.rate * static_cast<double>(*facts.sequences_per_iteration);
      return std::nullopt;
    case RateUnit::tokens_per_second:
      if (facts.sequence_length) return estimate.rate / static_cast<double>(*facts.sequence_length);
      return std::nullopt;
    case RateUnit::epochs_per_second:
    case RateUnit::unknown:
      return std::nullopt;
  }
  return std::nullopt;
}

bool counts_data(IterationUnit unit) {
  return unit == IterationUnit::sequence || unit == IterationUnit::process_sequence ||
         unit == IterationUnit::token;
}

std::string missing_facts(const Facts& facts, IterationUnit unit) {
  std::string out;
  const auto add = [&](bool known, const char* option) {
    if (!known) out += std::string(out.empty() ? "" : ", ") + option;
  };
  add(facts.micro_batch_size.known(), "--micro-batch-size");
  add(facts.world().has_value() || facts.nodes.known(), "--nodes");
  add(facts.world().has_value() || facts.gpus_per_node.known(), "--gpus-per-node");
  if (unit != IterationUnit::micro_step) {
    add(facts.gradient_accumulation_steps.known(), "--gradient-accumulation-steps");
  }
  return out;
}

// Estimates of one unit: sequences/s where one of them allows it, else tokens/s where one of them
// is of the window or none is in iterations/s, else iterations/s, or epochs/s where nothing finer
// is counted.
struct Estimates {
  std::vector<Estimate> list;
  RateUnit unit = RateUnit::iterations_per_second;
};

bool is_of_window(const Estimate& estimate) {
  return estimate.name != "log_summary" && estimate.name != "total_time";
}

// One of a kernel or a collective: its iterations have no sequences, its records no warm-up.
bool is_benchmark(const Trial& trial) {
  return std::ranges::any_of(trial.notices, [](const Notice& notice) {
    return notice.code == NoticeCode::kernel_benchmark ||
           notice.code == NoticeCode::collective_bandwidth;
  });
}

Estimates in_one_unit(std::vector<Estimate> estimates, const Conversion& conversion,
                      const Facts& facts, IterationUnit unit, Trial& trial) {
  std::vector<Estimate> converted;
  std::string left_out, tokens;
  for (Estimate estimate : estimates) {
    if (const auto rate = in_sequences(estimate, conversion)) {
      estimate.rate = *rate;
      estimate.unit = RateUnit::sequences_per_second;
      converted.push_back(estimate);
    } else if (estimate.name != "printed_mean") {  // what is reported of printed holds for it
      if (estimate.unit == RateUnit::tokens_per_second) {
        tokens += fmt::format("{}{:.6g} tokens/s by {}", tokens.empty() ? "" : ", ", estimate.rate,
                              estimate.name);
      } else {
        left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", estimate.name);
      }
    }
  }
  const auto only = [&](RateUnit kept) {
    std::erase_if(estimates, [&](const Estimate& estimate) { return estimate.unit != kept; });
    return Estimates{std::move(estimates), kept};
  };
  const std::string missing = missing_facts(facts, unit);
  const std::string remedy = missing.empty() ? std::string() : "; give " + missing;
  if (!converted.empty()) {
    if (!left_out.empty()) {
      trial.notices.push_back(
          make_notice(NoticeCode::sequences_unknown_left_out, 0, left_out, remedy));
    }
    if (!tokens.empty()) {
      trial.notices.push_back(make_notice(NoticeCode::tokens_unknown_left_out, 0, tokens));
    }
    return {std::move(converted), RateUnit::sequences_per_second};
  }
  const bool tokens_stand = std::ranges::any_of(estimates, [&](const Estimate& one) {
    return one.unit == RateUnit::tokens_per_second && (is_of_window(one) || left_out.empty());
  });
  if (tokens_stand) {
    for (Estimate& estimate : estimates) {
      if (!conversion.tokens_per_iteration || estimate.unit != RateUnit::iterations_per_second) {
        continue;
      }
      estimate.rate *= *conversion.tokens_per_iteration;
      estimate.unit = RateUnit::tokens_per_second;
    }
    trial.notices.push_back(make_notice(NoticeCode::rates_need_sequence_length, 0));
    return only(RateUnit::tokens_per_second);
  }
  // No fact makes sequences of these: they are printed as they stand in the log.
  if (!tokens.empty()) trial.notices.push_back(make_notice(NoticeCode::rates_in_tokens, 0, tokens));
  Estimates out = only(RateUnit::iterations_per_second);
  if (unit == IterationUnit::epoch) {  // no batch makes sequences of them
    out.unit = RateUnit::epochs_per_second;
    for (Estimate& estimate : out.list) estimate.unit = out.unit;
  } else if (!out.list.empty() && !is_benchmark(trial)) {
    trial.notices.push_back(make_notice(NoticeCode::rates_in_iterations, 0, remedy));
  }
  return out;
}

// All work over all time is left out where they are not of one stretch of the run: in the tail of a
// log, and where the shell's time includes the start-up of a short run (30.78 s for 14 steps of
// NVIDIA's SQuAD script, corpus nvidia-dle-pytorch/lambda_8x2080ti_squad_base_fp16.log).
void leave_out_total(const RunLog& log, Estimates& shown, Trial& trial) {
  const auto total = std::ranges::find(shown.list, "total_time", &Estimate::name);
  if (total == shown.list.end()) return;
  std::vector<double> others;
  for (const Estimate& estimate : shown.list) {
    if (estimate.name != "total_time") others.push_back(estimate.rate);
  }
  if (!total_is_of_other_work(total->rate, others, std::isnan(seconds_of_run(log)))) return;
  trial.notices.push_back(
      make_notice(NoticeCode::total_time_left_out, 0, total->rate, name(total->unit)));
  shown.list.erase(total);
}

// Of a few records the first, with the warm-up in it, may be slower than any other: an estimate of
// them all is as far off as it lies from the same one without that record. One that begins at the
// end of the first record, such as a clock of stamps, is not.
void count_slow_first(const RunLog& log, const Window& window,
                      std::optional<std::int64_t> sequences_per_optimizer_step,
                      std::vector<Estimate>& estimates) {
  constexpr std::size_t kFewest = 3, kMostWeighedDown = 5;  // records: more of them weigh one down
  constexpr double kSlowFirstFactor = 1.2;                  // times the slowest of the others
  if (window.first != 0 || window.size() < kFewest || window.size() > kMostWeighedDown) return;
  const auto times = iteration_times(log);
  if (times.size() < window.last) return;
  const auto others = std::span(times).subspan(1, window.last - 1);
  if (!(times.front() > kSlowFirstFactor * std::ranges::max(others))) return;
  Window rest = window;
  ++rest.first;
  for (const Estimate& without : estimate_all(log, rest, sequences_per_optimizer_step)) {
    const auto with = std::ranges::find(estimates, without.name, &Estimate::name);
    if (with == estimates.end() || with->unit != without.unit || !is_of_window(*with)) continue;
    with->error = std::hypot(with->error, without.rate / with->rate - 1);
  }
}

// What a trial shows: outside a covered window only what is of the whole run.
Estimates shown_estimates(const RunLog& log, const Window& window, const Conversion& conversion,
                          const Facts& facts, bool compat_dlperf, Trial& trial) {
  auto all = estimate_all(log, window, facts.sequences_per_optimizer_step());
  if (!window.covered) {
    std::erase_if(all, is_of_window);
  } else {
    count_slow_first(log, window, facts.sequences_per_optimizer_step(), all);
  }
  // What a counter of tokens gives over a time is tokens/s.
  for (Estimate& estimate : all) {
    const bool counted =
        estimate.unit == RateUnit::iterations_per_second && !estimate.name.starts_with("printed");
    if (counted && log.iteration_unit == IterationUnit::token) {
      estimate.unit = RateUnit::tokens_per_second;
    }
  }
  Estimates shown = in_one_unit(std::move(all), conversion, facts, log.iteration_unit, trial);
  leave_out_total(log, shown, trial);
  compare_errors(shown.list);
  for (Estimate& estimate : shown.list) {
    if (compat_dlperf) estimate.rate = round_dlperf(estimate.rate);
    trial.estimators[std::string(estimate.name)] = estimate.rate;
    if (estimate.resolution > 0) {
      trial.resolution[std::string(estimate.name)] = estimate.resolution;
    }
    if (std::isfinite(estimate.error)) {
      trial.expected_error[std::string(estimate.name)] = estimate.error;
    }
  }
  return shown;
}

constexpr double kUncertain = 0.01;  // share: an expected error above it is reported

const Estimate* choose(std::span<const Estimate> estimates, const MeasureOptions& options,
                       Trial& trial) {
  if (options.estimator.empty()) {
    const Estimate* chosen = default_estimate(estimates);
    if (chosen == nullptr) {
      const bool whole =
          std::ranges::find(estimates, "total_time", &Estimate::name) != estimates.end();
      trial.notices.push_back(make_notice(
          NoticeCode::no_rate, 0,
          whole ? " but that of all its time, which --estimator total_time takes" : ""));
    } else if (chosen->whole_seconds && chosen->error > kUncertain) {
      trial.notices.push_back(
          make_notice(NoticeCode::counter_clock_uncertain, 0, 100 * chosen->error));
    }
    return chosen;
  }
  for (const Estimate& estimate : estimates) {
    if (estimate.name == options.estimator) return &estimate;
  }
  std::string there;
  for (const Estimate& estimate : estimates) {
    there += fmt::format("{}{}", there.empty() ? "" : ", ", estimate.name);
  }
  trial.notices.push_back(make_notice(NoticeCode::estimator_not_allowed, 0, options.estimator,
                                      there.empty() ? "none" : there));
  return nullptr;
}

// The rate of a covered window, and what contradicts the estimate that gives it.
void choose_rate(const RunLog& log, const Window& window, const Estimates& estimates,
                 const Conversion& conversion, const MeasureOptions& options, Trial& trial) {
  const auto add = [&](const std::optional<Notice>& notice) {
    if (notice) trial.notices.push_back(*notice);
  };
  const auto records = std::span(log.records).subspan(window.first, window.size());
  if (conversion.sequences_per_iteration) {
    add(stated_rate_is_apart(log, records, *conversion.sequences_per_iteration));
  }
  const Estimate* chosen = choose(estimates.list, options, trial);
  if (chosen == nullptr) return;
  trial.estimator = chosen->name;
  trial.rate_in(estimates.unit) = chosen->rate;
  if (chosen->name == "log_summary" && window.size() > 0) {
    add(make_notice(NoticeCode::closing_rate_of_run, 0));
  }
  note_other_rates(estimates.list, *chosen, window.size(), trial);
  if (chosen->name == "counter_clock") report_clock_jump(log, window, trial);
  if (chosen->name == "printed_mean") add(mean_of_rates_misleads(records, log.rate_unit));
}

// Seconds per optimizer step in the window: the records' own, else differences of a clock that is
// fine enough, of milliseconds as DLLogger's. Micro-steps are joined to whole optimizer steps;
// nothing when the unit is unknown.
std::vector<double> step_seconds(const RunLog& log, const Window& window, const Facts& facts) {
  if (counts_data(log.iteration_unit)) return {};
  const auto accumulation = facts.gradient_accumulation_steps.value;
  std::int64_t per_step = 1;  // iterations of the log's counter per optimizer step
  if (log.iteration_unit != IterationUnit::optimizer_step) {
    if (!accumulation || (log.iteration_unit == IterationUnit::unknown && *accumulation != 1)) {
      return {};
    }
    per_step = *accumulation;
  }
  const bool fine = log.clock_resolution_s <= 1e-3;
  std::vector<double> out;
  double seconds = 0;
  std::int64_t iterations = 0;
  for (std::size_t i = window.first; i < window.last; ++i) {
    const Record& record = log.records[i];
    double own = record.seconds;
    if (!(own > 0) && fine && i > 0) own = clock_of(record) - clock_of(log.records[i - 1]);
    if (!(own > 0) || record.iterations < 1) {
      seconds = 0;
      iterations = 0;
      continue;
    }
    seconds += own;
    iterations += record.iterations;
    const bool boundary = per_step == 1 || record.step % per_step == 0;
    if (!boundary) continue;
    if (iterations % per_step == 0) {
      out.push_back(seconds * static_cast<double>(per_step) / static_cast<double>(iterations));
    }
    seconds = 0;
    iterations = 0;
  }
  return out;
}

/// The lines of a window that holds records: what a record states is printed with it or after it.
struct LineRange {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] bool holds(std::int64_t line) const { return line >= begin && line < end; }
};
LineRange lines_of(const RunLog& log, const Window& window) {
  if (window.first >= window.last) return {};
  return {log.records[window.first].line, window.last < log.records.size()
                                              ? log.records[window.last].line
                                              : std::numeric_limits<std::int64_t>::max()};
}

/// Medians of what the lines of the window state of one GPU.
std::map<std::string, double> stated_of_window(const RunLog& log, const Window& window) {
  const LineRange lines = lines_of(log, window);
  std::array<std::vector<double>, kStatedValues> values;
  for (const StatedLine& one : log.stated.items()) {
    if (lines.holds(one.line)) values[static_cast<std::size_t>(one.what)].push_back(one.value);
  }
  std::map<std::string, double> out;
  for (std::size_t i = 0; i < kStatedValues; ++i) {
    if (!values[i].empty()) out[std::string(kStatedNames[i].key)] = median(values[i]);
  }
  return out;
}

/// Medians of the parts whose lines stand in the window.
std::map<std::string, PartRecord> parts_of_window(const RunLog& log, const Window& window) {
  std::map<std::string, PartRecord> out;
  const LineRange lines = lines_of(log, window);
  std::array<std::vector<double>, kStepParts> seconds;
  for (const PartTimes& times : log.parts.items()) {
    if (!lines.holds(times.line)) continue;
    for (std::size_t i = 0; i < kStepParts; ++i) {
      if (!std::isnan(times.seconds[i])) seconds[i].push_back(times.seconds[i]);
    }
  }
  for (std::size_t i = 0; i < kStepParts; ++i) {
    if (!seconds[i].empty()) out[std::string(kStepPartNames[i])] = {median(seconds[i])};
  }
  return out;
}

void reconcile(const RunLog& log, std::optional<std::int64_t> per_step,
               std::optional<std::int64_t> per_iteration, bool sequences, Trial& trial) {
  Reconciliation out;
  out.sequences = sequences_of_run(log, per_step);
  if (!out.sequences && log.totals.iterations && per_iteration) {
    out.sequences =
        static_cast<double>(*log.totals.iterations) * static_cast<double>(*per_iteration);
  }
  out.training_s = log.totals.training_s;
  out.wall_s = log.totals.wall_s;
  const double seconds = seconds_of_run(log);
  if (!out.sequences || !(seconds > 0)) return;
  out.rate = *out.sequences / seconds;
  if (sequences && *out.rate > 0) {
    for (const auto& [estimator, rate] : trial.estimators) {
      if (estimator != "total_time") out.gaps[estimator] = rate / *out.rate - 1;
    }
  }
  trial.reconciliation = std::move(out);
}

/// Chosen by the place among the records that print a loss, not by the step: logs that print each
/// tenth step begin at 1 or at 10.
std::vector<LossPoint> loss_at_fixed_steps(const RunLog& log, std::size_t losses) {
  const std::size_t stride = std::bit_ceil((losses + kLossPoints - 1) / kLossPoints);
  std::vector<LossPoint> out;
  std::size_t i = 0;
  for (const Record& record : log.records) {
    if (std::isfinite(record.loss) && i++ % stride == 0) out.push_back({record.step, record.loss});
  }
  return out;
}

/// Iterations from one printed loss to the next where they are always as many: a tqdm bar, which
/// redraws by the clock, has no such number. The first and the last may be cut.
std::optional<std::int64_t> loss_interval(const RunLog& log) {
  std::vector<std::int64_t> each;
  std::int64_t since = 0;
  for (const Record& record : log.records) {
    // Neighbours that were merged to stay in bounds count as those that they are made of.
    since += record.iterations / std::max<std::int64_t>(1, record.merged);
    if (std::isfinite(record.loss)) each.push_back(std::exchange(since, 0));
  }
  if (each.size() < 3) return std::nullopt;
  const auto differs = std::adjacent_find(each.begin() + 1, each.end() - 1, std::not_equal_to<>());
  return differs == each.end() - 1 ? std::optional(each[1]) : std::nullopt;
}

void describe_quality(const RunLog& log, Trial& trial) {
  LossRecord loss;
  std::size_t losses = 0;
  for (const Record& record : log.records) {
    if (!std::isfinite(record.loss)) continue;
    if (losses++ == 0) loss.first = record.loss;
    loss.last = record.loss;
  }
  loss.not_finite_from = log.first_nan_step;
  if (losses > 0) {
    loss.at = loss_at_fixed_steps(log, losses);
    loss.planned_step = log.planned;
    loss.every = loss_interval(log);
  }
  if (losses > 0 || loss.not_finite_from) trial.loss = std::move(loss);
  trial.scores = log.scores;
}

// The counters of all readers go on in a skipped update: its micro-steps were done.
void describe_skipped_steps(const RunLog& log, Trial& trial) {
  if (!(log.totals.skipped_steps > 0)) return;
  trial.skipped_steps = log.totals.skipped_steps;
  trial.notices.push_back(
      make_notice(NoticeCode::skipped_steps, 0, counted(*trial.skipped_steps, "optimizer step")));
}

// A closing statement measures the whole run: alone it can stand for `auto` and `all` only (MLPerf,
// corpus mlperf/v1.0_nvidia_dgxa100_n8_result1.log).
void cover_by_summary(const RunLog& log, const WindowRule& rule, Window& window, Trial& trial) {
  const bool whole = rule.kind == WindowRule::Kind::automatic || rule.kind == WindowRule::Kind::all;
  if (!log.records.empty() || !whole || !log.summary || log.first_nan_step) return;
  window.covered = true;
  window.rule = rule.kind == WindowRule::Kind::all ? "all" : "auto (all)";
  trial.notices.push_back(make_notice(NoticeCode::only_closing_rate, log.summary->line));
}

IterationCounts count_iterations(const RunLog& log, const Window& window) {
  IterationCounts out;
  out.seen = std::max(log.records_seen, std::int64_t(log.records.size()));
  for (std::size_t i = 0; i < window.last; ++i) {
    (i < window.first ? out.dropped : out.used) += log.records[i].merged;
  }
  if (!window.covered) out.used = 0;
  return out;
}

std::optional<MemoryRecord> memory_of(const RunLog& log) {
  if (log.memory) return MemoryRecord{log.memory->peak_bytes, log.memory->capacity_bytes, "log"};
  if (log.outcome.status != Status::out_of_memory) return std::nullopt;
  return memory_of_failure(quoted_line(log.outcome));
}

// What other tools would have given of the same log, next to the rate here. That of all iterations
// of the window where the trial's own is of work that iterations do not measure.
void compare_tools(const RunLog& log, const Conversion& conversion, const MeasureOptions& options,
                   Trial& trial) {
  const auto rate = [&]() -> std::optional<double> {
    if (trial.iterations_per_second) return trial.iterations_per_second;
    if (trial.sequences_per_second && conversion.sequences_per_iteration) {
      return *trial.sequences_per_second / static_cast<double>(*conversion.sequences_per_iteration);
    }
    return std::nullopt;
  }();
  const bool merged =
      std::ranges::any_of(log.records, [](const Record& record) { return record.merged > 1; });
  for (const std::string& tool : options.windows_of) {
    const auto window = merged ? std::nullopt : window_of(tool, log.records);
    if (!window) {
      trial.notices.push_back(
          make_notice(NoticeCode::window_of_tool_empty, 0, tool,
                      merged ? "the log has more records than are kept, and neighbours were merged"
                             : "it holds no time of an iteration of this log"));
      continue;
    }
    const std::string off =
        rate ? fmt::format(", a rate {:+.1f} % off", 100 * (1 / window->seconds / *rate - 1)) : "";
    trial.notices.push_back(make_notice(NoticeCode::window_of_tool, 0, tool, window->seconds,
                                        window->deviation, window->values, window->first,
                                        window->last, off));
  }
}

void leave_early_end_out(const RunLog& log, const MeasureOptions& options, Window& window) {
  const bool counts_steps =
      log.iteration_unit != IterationUnit::epoch && !counts_data(log.iteration_unit);
  if (!window.covered || options.window.kind != WindowRule::Kind::automatic || !counts_steps) {
    return;
  }
  const std::int64_t last = log.records[window.last - 1].step;
  if (2 * last >= options.planned_steps) return;
  window.covered = false;
  window.notices.push_back(
      make_notice(NoticeCode::ended_too_early, 0, last, options.planned_steps));
}

}  // namespace

Trial measure_trial(const RunLog& log, const Facts& merged, const MeasureOptions& options) {
  Trial trial;
  trial.log = log.path;
  trial.format = log.format;
  trial.outcome = log.outcome;
  trial.notices = log.notices;
  const Facts facts = deduce_facts(merged, trial.notices);
  trial.simulated = identity_of(facts).simulated();

  Window window = apply_window(log, options.window);
  leave_early_end_out(log, options, window);
  cover_by_summary(log, options.window, window, trial);
  for (const Notice& notice : window.notices) {
    if (notice.code != NoticeCode::few_records || !is_benchmark(trial)) {
      trial.notices.push_back(notice);
    }
  }
  trial.window = {.rule = window.rule,
                  .chosen_by = options.window.chosen_by_user ? "user" : "default",
                  .covered = window.covered,
                  .first_step = window.first_step,
                  .last_step = window.last_step};
  trial.iterations = count_iterations(log, window);

  const Conversion conversion{sequences_per_iteration(facts, log.iteration_unit),
                              facts.sequence_length.value, tokens_per_iteration(log, window)};
  const Estimates estimates =
      shown_estimates(log, window, conversion, facts, options.compat_dlperf, trial);
  if (const auto arrival = counter_over_arrivals(log, window); arrival && arrival->in_bursts()) {
    trial.notices.push_back(
        make_notice(NoticeCode::arrival_in_bursts, 0, 100 * arrival->burst_share));
  }
  if (window.covered) choose_rate(log, window, estimates, conversion, options, trial);
  // A trial without a rate does not give the unit of its estimates, which is then sequences/s.
  const bool in_sequences = estimates.unit == RateUnit::sequences_per_second;
  if (!trial.rate() && !in_sequences) {
    trial.estimators.clear();
    trial.resolution.clear();
    trial.expected_error.clear();
  }
  if (window.covered && !options.summary_only) {
    if (const auto steps = step_seconds(log, window, facts); !steps.empty()) {
      const auto times = quantiles(steps, {0.5, 0.9, 0.99});
      trial.step_time = {times[0], times[1], times[2]};
    }
    trial.parts = parts_of_window(log, window);
    trial.stated = stated_of_window(log, window);
  }
  describe_series(log, window, trial, options.summary_only);
  if (!options.summary_only) {
    reconcile(log, facts.sequences_per_optimizer_step(), conversion.sequences_per_iteration,
              in_sequences, trial);
  }
  compare_tools(log, conversion, options, trial);
  describe_skipped_steps(log, trial);
  describe_ranks(log, trial);
  trial.memory = memory_of(log);
  describe_quality(log, trial);
  return trial;
}

}  // namespace bertbench
