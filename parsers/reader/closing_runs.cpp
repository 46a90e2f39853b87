#include "parsers/reader/closing_runs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/run_log.h"
#include "parsers/rules/fact_rules.h"
#include "parsers/rules/mark_rules.h"
#include "parsers/rules/outcome_rules.h"

namespace bertbench {
namespace {

// Evaluations within a training that print the lines of a training (gluon-nlp, TF-slim): the runs
// of any format are corrected here.

/// From one record to the next, by the newest two.
std::int64_t interval_of(const RunLog& run) {
  const auto& records = run.records;
  if (records.size() < 2) return std::max<std::int64_t>(1, records.back().iterations);
  return std::max<std::int64_t>(1, records.back().step - records[records.size() - 2].step);
}

/// Whether a counter is that of the training's next line, or of the one after it.
bool goes_on(const RunLog& training, std::int64_t step) {
  const std::int64_t ahead = step - training.records.back().step;
  return ahead > 0 && ahead <= 2 * interval_of(training);
}

/// The record at which the block's own counting ends and the training's goes on; its size where it
/// does not. A step that would be the next of both is the block's
/// (quoted/evaluation_blocks.are_no_training_and_do_not_part_one).
std::size_t end_of_block(const RunLog& training, const RunLog& block) {
  const auto& records = block.records;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const std::int64_t own = i > 1 ? records[i - 1].step - records[i - 2].step : 1;
    const std::int64_t step = records[i].step - records[i - 1].step;
    if (step != std::max<std::int64_t>(1, own) && goes_on(training, records[i].step)) return i;
  }
  return records.size();
}

std::int64_t count_of(std::span<const Record> records) {
  std::int64_t out = 0;
  for (const Record& record : records) out += record.merged;
  return out;
}

/// The records of `later` from `from` on are the training's, as are how it ended and what it closed
/// with.
void go_on_with(RunLog& training, RunLog& later, std::size_t from) {
  const auto begin = later.records.begin() + static_cast<std::ptrdiff_t>(from);
  begin->iterations = begin->step - training.records.back().step;
  const double origin = begin->time_s;
  for (auto record = begin; record != later.records.end(); ++record) {
    record->time_s -= origin;
    record->first_time_s -= origin;
  }
  const std::int64_t count = count_of(std::span<const Record>(later.records).subspan(from));
  training.records_seen += count;
  later.records_seen -= count;
  training.records.insert(training.records.end(), begin, later.records.end());
  later.records.erase(begin, later.records.end());
  training.outcome = std::move(later.outcome);
  if (!training.summary) training.summary = std::exchange(later.summary, std::nullopt);
  if (!training.first_nan_step && training.outcome.status == Status::nan) {
    training.first_nan_step = later.first_nan_step;
  }
  training.totals = {};  // of a part
  if (later.totals.training_s) training.totals.training_s = later.totals.training_s;
  training.marks.insert(training.marks.end(), later.marks.begin(), later.marks.end());
  for (const PartTimes& times : later.parts.items()) training.parts.add(times);
}

/// What was stated of batches and of the end was stated of training.
void make_evaluation(RunLog& block) {
  block.kind = WorkKind::evaluation;
  block.facts.micro_batch_size = {};
  block.facts.global_batch_size = {};
  block.facts.gradient_accumulation_steps = {};
  block.totals = {};
  block.summary.reset();
  block.first_nan_step.reset();
  block.marks.clear();
  block.parts.clear();
  const Record& last = block.records.back();
  block.outcome = {Status::completed, last.step, last.line, {}};
}

// A counter that starts over after a line that announces an evaluation counts the evaluation's own
// steps. Such a block is of kind evaluation, and where the training's counter continues after it
// (the format may have taken that for a further run, or for the block's) it is the same training;
// its clock goes back there, so that no rate holds the evaluation's time. The runs stand in order
// of their first lines. gluon-nlp's training with evaluations inside was read as three, the
// evaluations among them
// (quoted/gluonnlp_evaluation.within_a_training_is_none_of_its_steps_and_does_not_end_it,
// quoted/evaluation_blocks.several_and_one_at_the_end).
void part_evaluations(std::vector<RunLog>& runs, const MarkRules& marks) {
  const auto trains = [](const RunLog& run) {
    return run.kind == WorkKind::training && !run.records.empty();
  };
  for (auto at = runs.begin(); at != runs.end();) {
    const auto block = std::find_if(at + 1, runs.end(), trains);
    if (!trains(*at) || block == runs.end()) {
      ++at;
      continue;
    }
    const Record& last = at->records.back();
    if (block->records.front().step > last.step ||
        !marks.evaluates(last.line, block->records.front().line)) {
      ++at;
      continue;
    }
    const std::size_t end = end_of_block(*at, *block);
    const auto next = std::find_if(block + 1, runs.end(), trains);
    const bool within = end < block->records.size();
    const bool follows = !within && next != runs.end() &&
                         goes_on(*at, next->records.front().step) &&
                         !marks.trains(block->records.back().line, next->records.front().line);
    // The last block of a training, unless it came further than that: another launch then
    // (quoted/evaluation_blocks.a_launch_after_an_evaluation_is_a_training).
    if (!within && !follows && block->records.back().step > last.step) {
      ++at;
      continue;
    }
    if (within) go_on_with(*at, *block, end);
    if (follows) go_on_with(*at, *next, 0);
    make_evaluation(*block);
    if (follows) runs.erase(next);
  }
}

constexpr std::size_t kKinds = 3;  ///< of WorkKind

// A log's own closing number next to what its counter and clock give. A script that takes the last
// redraw ("training throughput: 28" of corpus nvidia-dle-pytorch/lambda_1080ti_squad_base_fp32.log,
// where the clock gives 22.9), or counts applied updates only, is kept apart from the run's rate.
void compare_summary(RunLog& run) {
  constexpr double kTolerance = 0.02;  // share of the rate
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
  // A notice of its own reports the evaluations that make the stated rate lower.
  if (gap < 0 && run.noted(NoticeCode::closing_rate_holds_evaluations)) return;
  run.note(NoticeCode::closing_rate_contradicted, run.summary->line, run.summary->value,
           std::abs(gap) * 100, gap > 0 ? "above" : "below", what, rate);
}

// NVIDIA's BERT for PyTorch does not print how many GPUs it ran on, but a closing rate of all
// digits: times the time next to it that is the sequences of the micro-steps it counts, which are
// all of them, or, in releases since 2022, which leave the warm-up out, all but the first four
// (quoted/dllogger.the_closing_rate_and_its_time_tell_the_world_size).
void fill_world(RunLog& run) {
  constexpr std::int64_t kWarmUp = 4;  // micro-steps
  constexpr double kWholeWorldGap =
      1e-7;  // the digits of a double that was printed whole, and divided
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
    if (whole < 1 || whole > 1e6 || std::abs(world / whole - 1) > kWholeWorldGap) continue;
    const auto known = facts.world();
    if (known && *known != static_cast<std::int64_t>(whole)) continue;
    if (!known) run.facts.world_size.set(static_cast<std::int64_t>(whole), FactSource::log);
    if (left_out > 0) {
      run.note(NoticeCode::closing_rate_without_warmup, run.summary->line, left_out);
    }
    return;
  }
}

// A banner of the Hugging Face Trainer or PaddleNLP that many lines follow did begin a training: of
// steps that nothing reads
// (quoted/trainer_runs.a_banner_that_many_lines_follow_is_of_steps_that_nothing_reads).
void judge_banner(Outcome& outcome, std::int64_t newest_line) {
  constexpr std::int64_t kLinesBeforeSteps = 1000;  // lines: warnings of many ranks
  if (newest_line - outcome.line < kLinesBeforeSteps) return;
  const auto cut = [](const Notice& it) { return it.code == NoticeCode::cut_after_banner; };
  if (std::ranges::none_of(outcome.details, cut)) return;
  outcome = {Status::no_data, std::nullopt, 0, {make_notice(NoticeCode::no_step, 0)}};
}

// A peak above the capacity is not of the device whose capacity it is: the Trainer's metrics next
// to nvidia-smi's table of one GPU (quoted/facts.a_peak_above_the_capacity_is_not_of_that_device).
void leave_out_memory(RunLog& run) {
  constexpr double kGiB = 1 << 30;
  if (!run.memory || run.memory->capacity_bytes <= 0) return;
  const auto [peak, capacity] = *run.memory;
  if (peak <= capacity) return;
  run.note(NoticeCode::memory_above_capacity, 0, static_cast<double>(peak) / kGiB,
           static_cast<double>(capacity) / kGiB);
  run.memory.reset();
}

// A launch after all runs that failed before its first step is a run of its own: the last one,
// whose outcome is the job's
// (quoted/several_runs.do_not_take_the_failure_of_a_launch_after_a_run_for_its_own).
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

/// Its printed rates are of one GPU. Without the number of GPUs they are none of the job.
void make_rates_of_job(RunLog& run) {
  const auto world = run.facts.world();
  const double gpus = world ? static_cast<double>(*world) : kUnknown;
  for (Record& record : run.records) {
    record.printed_rate *= gpus;
    record.printed_first *= gpus;
  }
  if (world) return;
  run.rate_unit = RateUnit::unknown;
  run.notices.push_back(make_notice(NoticeCode::rate_of_one_gpu, 0, "the printed rate"));
}

}  // namespace

std::vector<RunLog> close_runs(RunBuilder& builder, const LineRules& rules,
                               const std::string& others) {
  auto& drafts = builder.drafts();
  std::erase_if(drafts, [](const auto& draft) { return draft->discard; });
  add_failed_launch(builder, rules.outcomes);
  // A recognised log without any record still has an outcome.
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
    // A format names a framework only where the log names none (bert_train prints the lines of
    // several).
    if (draft.log.facts.framework.known()) others_say.framework = {};
    draft.log.facts = merge_facts(draft.log.facts, others_say, draft.log.notices);
    // What failed before the training was another launch: its evaluation did not end of that
    // (quoted/several_runs.an_evaluation_is_not_of_a_launch_that_failed_before).
    if (draft.log.kind == WorkKind::training) training = draft.log.first_line;
    const std::int64_t own = draft.log.kind == WorkKind::training ? 0 : training;
    draft.log.outcome = rules.outcomes.decide(draft, std::max(first ? 0 : begin, own), end);
    draft.log.survived = rules.outcomes.survived(draft);
    judge_banner(draft.log.outcome, rules.newest_line);
    draft.log.marks = rules.marks.of(first ? 0 : begin, end);
    if (draft.log.kind == WorkKind::training && !draft.log.totals.skipped_steps) {
      draft.log.totals.skipped_steps =
          rules.marks.overflows().steps(first ? 0 : begin, end, draft.log.facts.world());
    }
    if (!others.empty()) draft.log.note(NoticeCode::other_formats_records, 0, others);
    out.push_back(draft.take());
    fill_world(out.back());
    if (draft.rates_of_one_gpu) make_rates_of_job(out.back());
    leave_out_memory(out.back());
    if (out.back().kind == WorkKind::training) {
      rules.marks.nonfinite().add_notices(out.back(), first ? 0 : begin, end);
      out.back().stated = rules.marks.stated().of(first ? 0 : out.back().first_line, end);
      // Lines made for the purpose go before the timers of a format.
      RankTimes printed = rules.marks.rank_times().of(first ? 0 : out.back().first_line, end);
      if (!printed.empty()) out.back().rank_times = std::move(printed);
    }
  }
  part_evaluations(out, rules.marks);
  for (RunLog& run : out) compare_summary(run);
  return out;
}

}  // namespace bertbench
