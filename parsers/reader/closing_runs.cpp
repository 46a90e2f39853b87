#include "parsers/reader/closing_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "parsers/assemble/run_builder.h"
#include "parsers/reader/evaluation_blocks.h"
#include "parsers/rules/fact_rules.h"
#include "parsers/rules/mark_rules.h"
#include "parsers/rules/outcome_rules.h"

namespace bertbench {
namespace {

constexpr std::size_t kKinds = 3;  ///< of WorkKind

// A log's own closing number next to what its counter and clock give: a script that takes the last
// redraw, or counts applied updates only, is kept apart from the run's rate.
void compare_summary(RunLog& run) {
  constexpr double kTolerance = 0.02;
  if (!run.summary || run.summary->unit != RateUnit::sequences_per_second) return;
  const auto sequences = run.iteration_unit == IterationUnit::optimizer_step
                             ? run.facts.sequences_per_optimizer_step()
                             : run.facts.sequences_per_micro_step();
  if (!sequences || run.records.size() < 2 || run.kind != WorkKind::training) return;
  const Record& first = run.records.front();
  const Record& last = run.records.back();
  double seconds = 0, iterations = 0;  // of the step times, if all are known
  for (const Record& record : run.records) {
    seconds += record.seconds;
    iterations += static_cast<double>(record.iterations);
  }
  const char* what = "the step times";
  double resolution = 0;
  if (std::isnan(seconds)) {
    what = "counter over clock";
    resolution = run.clock_resolution_s;
    seconds = run.clock_is_wall ? last.time_s - first.time_s : last.time_s;
    iterations = run.clock_is_wall ? iterations - static_cast<double>(first.iterations)
                                   : static_cast<double>(last.step);
  }
  if (!(seconds > 0)) return;
  const double rate = iterations * static_cast<double>(*sequences) / seconds;
  const double gap = run.summary->value / rate - 1;
  if (!(std::abs(gap) > kTolerance + resolution / seconds)) return;
  run.notices.push_back(make_notice(NoticeCode::closing_rate_contradicted, run.summary->line,
                                    run.summary->value, std::abs(gap) * 100,
                                    gap > 0 ? "above" : "below", what, rate));
}

// NVIDIA's BERT does not print how many GPUs it ran on, but a closing rate of all digits: times the
// time next to it that is the sequences of the micro-steps it counts, which are all of them, or, in
// releases since 2022, which leave the warm-up out, all but the first four.
void fill_world(RunLog& run) {
  constexpr std::int64_t kWarmUp = 4;
  constexpr double kExact = 1e-7;  // the digits of a double that was printed whole, and divided
  const Facts& facts = run.facts;
  const bool updates = run.iteration_unit == IterationUnit::optimizer_step;
  if (!run.summary || run.summary->unit != RateUnit::sequences_per_second ||
      !run.totals.training_s || run.records.empty() || !facts.micro_batch_size.known() ||
      (updates && !facts.gradient_accumulation_steps.known()) ||
      run.outcome.status != Status::completed) {
    return;
  }
  const Record& first = run.records.front();
  const std::int64_t iterations = run.records.back().step - (first.step - first.iterations);
  const std::int64_t micro_steps =
      iterations * (updates ? *facts.gradient_accumulation_steps.value : 1);
  const double batches = run.summary->value * *run.totals.training_s /
                         static_cast<double>(*facts.micro_batch_size.value);
  for (const std::int64_t left_out : {std::int64_t{0}, kWarmUp}) {
    if (micro_steps <= left_out) continue;
    const double world = batches / static_cast<double>(micro_steps - left_out);
    const double whole = std::round(world);
    if (whole < 1 || whole > 1e6 || std::abs(world / whole - 1) > kExact) continue;
    const auto known = facts.world();
    if (known && *known != static_cast<std::int64_t>(whole)) continue;
    if (!known) run.facts.world_size.set(static_cast<std::int64_t>(whole), FactSource::log);
    if (left_out > 0) {
      run.notices.push_back(
          make_notice(NoticeCode::closing_rate_without_warmup, run.summary->line, left_out));
    }
    return;
  }
}

// A banner that many lines follow did begin a training: of steps that nothing reads.
void judge_banner(Outcome& outcome, std::int64_t newest_line) {
  constexpr std::int64_t kLinesBeforeSteps = 1000;  // warnings of many ranks
  if (newest_line - outcome.line < kLinesBeforeSteps) return;
  const auto cut = [](const Notice& it) { return it.code == NoticeCode::cut_after_banner; };
  if (std::ranges::none_of(outcome.details, cut)) return;
  outcome = {Status::no_data, std::nullopt, 0, {make_notice(NoticeCode::no_step, 0)}};
}

// A peak above the capacity is not of the device whose capacity it is.
void leave_out_memory(RunLog& run) {
  constexpr double kGiB = 1 << 30;
  if (!run.memory || run.memory->capacity_bytes <= 0) return;
  const auto [peak, capacity] = *run.memory;
  if (peak <= capacity) return;
  run.notices.push_back(make_notice(NoticeCode::memory_above_capacity, 0,
                                    static_cast<double>(peak) / kGiB,
                                    static_cast<double>(capacity) / kGiB));
  run.memory.reset();
}

// A launch after all runs that failed before its first step is a run of its own: the last one,
// whose outcome is the job's.
void add_failed_launch(RunBuilder& builder, const OutcomeRules& outcomes) {
  const RunDraft* last = nullptr;
  for (const auto& draft : builder.drafts()) {
    if (draft->log.kind != WorkKind::training || draft->last_line == 0) continue;
    if (last == nullptr || draft->last_line > last->last_line) last = draft.get();
  }
  if (last == nullptr) return;
  const auto launch = outcomes.failed_launch_after(*last);
  if (!launch) return;
  const auto later = [&](const auto& draft) { return draft->last_line > *launch; };
  if (std::ranges::any_of(builder.drafts(), later)) return;
  builder.extra(WorkKind::training, *launch);
}

}  // namespace

std::vector<RunLog> close_runs(RunBuilder& builder, const LineRules& rules,
                               const std::string& others) {
  auto& drafts = builder.drafts();
  std::erase_if(drafts, [](const auto& draft) { return draft->discard; });
  add_failed_launch(builder, rules.outcomes);
  // A recognised log without any record still says how it ended.
  if (drafts.empty()) builder.extra(WorkKind::training, 1);
  std::ranges::stable_sort(drafts, {}, [](const auto& draft) { return draft->log.first_line; });
  // A run's lines end where the next one of its kind begins.
  std::vector<std::int64_t> ends(drafts.size());
  std::array<std::int64_t, kKinds> next{}, last{};
  next.fill(std::numeric_limits<std::int64_t>::max());
  for (std::size_t i = drafts.size(); i-- > 0;) {
    const RunLog& log = drafts[i]->log;
    ends[i] = std::exchange(next[static_cast<std::size_t>(log.kind)], log.first_line);
  }
  std::vector<RunLog> out;
  std::int64_t training = 0;  // first line of the newest one
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    RunDraft& draft = *drafts[i];
    // Statements before a run are its own.
    const std::int64_t begin =
        std::exchange(last[static_cast<std::size_t>(draft.log.kind)], draft.last_line);
    const std::int64_t end = ends[i];
    const bool first = begin == 0;
    rules.facts.apply(draft, begin, end);
    Facts others_say = builder.facts;
    // A format stands for a framework only where the log names none (bert_train speaks like
    // several).
    if (draft.log.facts.framework.known()) others_say.framework = {};
    draft.log.facts = merge_facts(draft.log.facts, others_say, draft.log.notices);
    // What failed before the training was another launch: its evaluation did not end of that.
    if (draft.log.kind == WorkKind::training) training = draft.log.first_line;
    const std::int64_t own = draft.log.kind == WorkKind::training ? 0 : training;
    draft.log.outcome = rules.outcomes.decide(draft, std::max(first ? 0 : begin, own), end);
    judge_banner(draft.log.outcome, rules.newest_line);
    draft.log.marks = rules.marks.of(first ? 0 : begin, end);
    if (draft.log.kind == WorkKind::training && !draft.log.totals.skipped_steps) {
      draft.log.totals.skipped_steps =
          rules.marks.overflows().steps(first ? 0 : begin, end, draft.log.facts.world());
    }
    if (!others.empty()) {
      draft.log.notices.push_back(make_notice(NoticeCode::other_formats_records, 0, others));
    }
    out.push_back(draft.take());
    fill_world(out.back());
    leave_out_memory(out.back());
    if (out.back().kind == WorkKind::training) {
      rules.marks.nonfinite().add_notices(out.back(), first ? 0 : begin, end);
    }
  }
  part_evaluations(out, rules.marks);
  for (RunLog& run : out) compare_summary(run);
  return out;
}

}  // namespace bertbench
