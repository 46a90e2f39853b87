// How a run ended, decided from the signs that were seen in its lines.
#include <algorithm>
#include <limits>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/rules/failure_words.h"
#include "parsers/rules/outcome_rules.h"
#include "parsers/rules/outcome_table.h"

namespace bertbench {
namespace {

constexpr std::int64_t kAfterAll = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::optional<Outcome> OutcomeRules::trouble(std::int64_t survived_line) const {
  const Sign* best = nullptr;
  for (const Sign& sign : signs_) {
    if (sign.line < survived_line || sign.strength == kHint) continue;
    if (best == nullptr || sign.strength >= best->strength) best = &sign;
  }
  if (best == nullptr) return std::nullopt;
  return Outcome{best->status, std::nullopt, best->line, {log_line(best->text)}};
}

std::optional<Outcome> OutcomeRules::survived(const RunDraft& run) const {
  const auto& records = run.records();
  if (records.empty()) return std::nullopt;
  const Sign* best = nullptr;
  for (const Sign& sign : signs_) {
    const bool within = sign.line > records.front().line && sign.line < records.back().line;
    if (!within || sign.strength < kNamed || sign.cancelled) continue;
    if (best == nullptr || sign.strength > best->strength) best = &sign;
  }
  if (best == nullptr) return std::nullopt;
  const auto after = std::ranges::lower_bound(records, best->line, {}, &Record::line);
  return Outcome{best->status, std::prev(after)->step, best->line, {log_line(whole_text(*best))}};
}

std::int64_t OutcomeRules::survived_line(const RunDraft& run, std::size_t last) {
  const auto& records = run.records();
  return records.empty() ? 0 : records[records.size() - std::min(records.size(), last)].line;
}

// A rank that dies leaves the others waiting: the timeout of NCCL's watchdog that ends the job is
// reported as well (corpus megatron/lockclock_nccl_watchdog_timeout.log).
void OutcomeRules::add_timeout_after(const Sign& cause, std::int64_t end_line,
                                     std::vector<Notice>& details) const {
  if (cause.collective_timeout) return;
  const auto at = std::ranges::find_if(signs_, [&](const Sign& sign) {
    return sign.collective_timeout && sign.line > cause.line && sign.line < end_line;
  });
  if (at == signs_.end()) return;
  details.push_back(make_notice(NoticeCode::collective_timeout_followed, 0, at->line));
}

// Paddle prints an exception's name on one line and its message further down;
// torch.multiprocessing.spawn prints that of the process that failed, after its whole traceback
// (quoted/outcome_rules.take_the_error_of_a_spawned_process).
std::string OutcomeRules::whole_text(const Sign& sign) const {
  constexpr std::int64_t kReach = 4, kLongestTraceback = 200;  // lines: Paddle's, torch's
  if (!sign.names_only) return sign.text;
  std::int64_t end = sign.line + kReach;
  for (const Sign& next : signs_) {
    if (next.line <= sign.line || next.line > end) continue;
    if (next.strength == kHint) {  // the exception is yet to come
      end = next.line + kLongestTraceback;
    } else if (next.status == sign.status) {
      return sign.text + " " + next.text;
    }
  }
  return sign.text;
}

// srun cancels a step when one of its tasks has failed, and prints "Exited with exit code" of the
// task first (quoted/outcome_table.tells_how_runs_end.84). The lines of the other tasks may stand
// in between.
const OutcomeRules::Sign& OutcomeRules::cause_of(const Sign& best) const {
  constexpr std::int64_t kReach = 200;  // lines
  if (!best.cancelled || best.status != Status::killed) return best;
  for (const Sign& sign : signs_) {
    if (sign.line < best.line && best.line - sign.line < kReach && sign.status == Status::error &&
        sign.task_exited) {
      return sign;
    }
  }
  return best;
}

// Several launches in one file, as nohup and Paddle's workerlog.0 append them, none of which came
// to a step: where the last that failed begins
// (quoted/outcome_rules.report_the_last_of_several_launches_that_came_to_no_step).
std::int64_t OutcomeRules::last_failed_launch(std::int64_t begin_line,
                                              std::int64_t end_line) const {
  for (auto launch = launches_.rbegin(); launch != launches_.rend(); ++launch) {
    if (launch->line < begin_line || launch->line >= end_line) continue;
    const bool failed = std::ranges::any_of(signs_, [&](const Sign& sign) {
      return sign.line >= launch->line && sign.line < end_line && sign.strength > kHint;
    });
    if (failed) return launch->line;
  }
  return 0;
}

bool OutcomeRules::names_an_end() const {
  return named_ || closing_.last_stated(0, kAfterAll).has_value();
}

bool OutcomeRules::is_stated_over(const RunDraft& run) const {
  const Record* last = run.last();
  return last != nullptr && closing_.after(0, last->line, kAfterAll, ClosingWords::Kind::stated);
}

std::optional<std::int64_t> OutcomeRules::end_after(std::int64_t last_record) const {
  using Kind = ClosingWords::Kind;
  const bool fails = failing_.after(last_record, kAfterAll) != nullptr;
  return closing_.after(0, last_record, kAfterAll, fails ? Kind::stated : Kind::implied);
}

// Of a log without a step: where it states that all is over, in a launch after the one that
// `failure` ended.
std::optional<std::int64_t> OutcomeRules::stated_end(const Sign* failure, std::int64_t begin_line,
                                                     std::int64_t end_line) const {
  const auto closed = closing_.last_stated(begin_line, end_line);
  if (!closed || failure == nullptr) return closed;
  const bool another = std::ranges::any_of(launches_, [&](const Launch& launch) {
    return launch.line > failure->line && launch.line < *closed;
  });
  return another ? closed : std::nullopt;
}

// Of a log without a step: where the program was launched once more after a failure, and nothing
// shows that this launch failed (quoted/several_runs.the_last_launch_of_two_without_a_step). The
// ranks of one launch print its first lines as well, some of them after another has failed: where
// exactly one such line came before the failure, a later one is of a new launch.
std::optional<std::int64_t> OutcomeRules::launch_again(std::int64_t failure_line,
                                                       std::int64_t begin_line,
                                                       std::int64_t end_line) const {
  const auto before = std::ranges::count_if(launches_, [&](const Launch& launch) {
    return launch.line >= begin_line && launch.line < failure_line;
  });
  for (const Launch& launch : launches_) {
    if (launch.line <= failure_line || launch.line >= end_line) continue;
    if (!launch.one && before != 1) continue;
    const bool fails = std::ranges::any_of(
        signs_, [&](const Sign& sign) { return sign.line >= launch.line && sign.line < end_line; });
    return fails ? std::nullopt : std::optional(launch.line);
  }
  return std::nullopt;
}

// Where another launch begins after all that the run printed
// (quoted/several_runs.do_not_take_the_failure_of_a_launch_after_a_run_for_its_own). Of a run that
// did not end, nodes whose logs follow one another may state the cause: there a line that each node
// prints, such as torchrun's of OMP_NUM_THREADS, begins none.
std::int64_t OutcomeRules::launch_after(const RunDraft& run, bool done,
                                        std::int64_t end_line) const {
  for (const Launch& launch : launches_) {
    if (launch.line > run.last_line && (done || launch.one)) {
      return std::min(launch.line, end_line);
    }
  }
  return end_line;
}

// The failure of a launch before.
void OutcomeRules::add_earlier_failure(std::int64_t from, std::int64_t to,
                                       std::vector<Notice>& details) const {
  const Sign* worst = nullptr;
  for (const Sign& sign : signs_) {
    if (sign.line < from || sign.line >= to || sign.strength == kHint) continue;
    if (worst == nullptr || sign.strength > worst->strength) worst = &sign;
  }
  if (worst == nullptr) return;
  details.push_back(make_notice(NoticeCode::launch_before_failed, 0, name(worst->status),
                                worst->line, worst->text));
}

// The newest records that are of one grace time of a scheduler; all where the clock is not known.
std::size_t OutcomeRules::records_of_grace_time(const RunDraft& run) {
  constexpr double kLongestGrace_s = 600;
  const auto& records = run.records();
  std::size_t n = 0;
  while (n < records.size()) {
    const double since = records.back().time_s - records[records.size() - 1 - n].time_s;
    if (since > kLongestGrace_s) break;
    ++n;
  }
  return n;
}

// Of a traceback's first line.
bool OutcomeRules::is_traceback(const Sign& sign) {
  return !sign.of_thread && sign.text.ends_with("(most recent call last):");
}

// What ended a run (`done`: it did all that it had to do): the strongest sign in lines [from, end),
// or null. A sign that the run lived on after, or one before its last record, did not end it.
const OutcomeRules::Sign* OutcomeRules::sign_of_end(const RunDraft& run, bool done,
                                                    std::int64_t from, std::int64_t end) const {
  // Slurm ends a job without fail, but gives it time (KillWait, --signal): a trainer that bypasses
  // the signal goes on until then
  // (quoted/outcome.steps_of_the_grace_time_do_not_undo_a_time_limit), and no longer: a job that
  // was put back into the queue goes on for hours
  // (quoted/outcome.a_job_that_was_queued_again_survived_its_preemption). Paddle's launcher prints
  // its last line before what its trainers had still to write
  // (quoted/outcome.steps_after_the_last_word_of_a_launcher_do_not_undo_it).
  constexpr std::size_t kGrace = 100;  // records: KillWait is 30 s by default
  const std::int64_t last_record = run.last() != nullptr ? run.last()->line : 0;
  const std::int64_t survived = done ? kAfterAll : survived_line(run);
  const std::int64_t grace =
      done ? survived : survived_line(run, std::min(kGrace, records_of_grace_time(run)));
  const Sign* best = nullptr;
  for (const Sign& sign : signs_) {
    if (sign.line < from || sign.line >= end) continue;
    const bool at_the_end =
        sign.strength >= kNamed && sign.line > (sign.cancelled ? grace : survived);
    if (sign.line < last_record && (!at_the_end || sign.goes_on)) continue;
    // A traceback whose last line has another name, or that is cut, but not that of a thread
    // (quoted/outcome_rules.a_traceback_of_any_name_after_the_end).
    if (done && sign.strength == kHint && !is_traceback(sign)) continue;
    const bool hint = sign.strength == kHint && best != nullptr && best->strength == kHint;
    if (best == nullptr || hint || sign.strength > best->strength) best = &sign;
  }
  return best != nullptr ? &cause_of(*best) : nullptr;
}

namespace {

// By how much the log's own step numbers are above the updates done, which the format counts.
std::int64_t ahead_of_updates(const RunDraft& run) {
  const auto& done = run.log.totals.last_optimizer_step;
  if (!done || run.last() == nullptr) return 0;
  if (run.log.iteration_unit != IterationUnit::optimizer_step) return 0;
  return std::max<std::int64_t>(0, run.last()->step - *done);
}

// How far a run came: by its newest line, by a checkpoint after it, or by a line without a record.
std::optional<std::int64_t> step_done(const RunDraft& run) {
  if (run.last() == nullptr) return std::nullopt;
  if (run.reached) return std::max(run.last()->step, *run.reached);
  const bool updates = run.log.iteration_unit == IterationUnit::optimizer_step;
  return updates ? run.log.totals.last_optimizer_step.value_or(run.last()->step) : run.last()->step;
}

}  // namespace

namespace {

// "step 0", "step 1000" ... "step 4000", "step 4999": the last line of a loop that prints each
// thousandth step and its last one (quoted/generic.the_last_step_has_a_line_of_its_own).
bool ends_off_stride(const RunDraft& run) {
  constexpr std::size_t kLinesThatShow = 4;
  constexpr std::int64_t kLeastStride = 5;  // steps
  const auto& records = run.records();
  if (records.size() < kLinesThatShow) return false;
  const auto stride_at = [&](std::size_t i) { return records[i].step - records[i - 1].step; };
  const std::int64_t stride = stride_at(1);
  for (std::size_t i = 2; i + 1 < records.size(); ++i) {
    if (stride_at(i) != stride) return false;
  }
  return stride >= kLeastStride && stride_at(records.size() - 1) == stride - 1;
}

}  // namespace

bool OutcomeRules::is_done(const RunDraft& run) const {
  if (run.ended_well) return true;
  if (!run.log.planned || run.last() == nullptr) return false;
  const Record& last = *run.last();
  // "Iter: 77/78" of a counter from 0 is the last line or the last but one: a log that breaks off
  // within a later line may have had one more
  // (quoted/generic.a_counter_from_0_that_breaks_off_before_its_total).
  const bool goes_on =
      run.total_unsure && last.step == *run.log.planned && cut_line_ > run.last_line;
  return last.step >= *run.log.planned && !goes_on;
}

std::optional<std::int64_t> OutcomeRules::failed_launch_after(const RunDraft& run) const {
  const std::int64_t next = launch_after(run, is_done(run), kAfterAll);
  const std::int64_t failed = next < kAfterAll ? last_failed_launch(next, kAfterAll) : 0;
  return failed > 0 ? std::optional(failed) : std::nullopt;
}

Outcome OutcomeRules::decide(const RunDraft& run, std::int64_t begin_line,
                             std::int64_t end_line) const {
  const Record* last = run.last();
  const bool no_step = last == nullptr && !run.ended_well;
  const std::int64_t launch = no_step ? last_failed_launch(begin_line, end_line) : 0;
  const auto step = step_done(run);
  const bool done = is_done(run);
  const std::int64_t end = no_step ? end_line : launch_after(run, done, end_line);
  // What failed before MLPerf's run_start with a good run_stop was another launch
  // (quoted/several_runs.an_official_run_is_not_of_a_launch_that_failed_before). A closing
  // statement without a record, such as a notebook prints, covers no line before it.
  const bool official = run.official_end && run.ended_well &&
                        (run.log.totals.training_s || (last == nullptr && run.log.summary));
  const std::int64_t start = official ? run.log.first_line : 0;
  const Sign* best = sign_of_end(run, done, std::max({begin_line, launch, start}), end);
  const bool only_cut = run.stated_outcome && run.stated_outcome->status == Status::truncated;
  if (only_cut && best == nullptr && !(no_step && stated_end(nullptr, run.last_line, end))) {
    return *run.stated_outcome;
  }
  if (run.stated_outcome && !only_cut && is_failure(run.stated_outcome->status) &&
      !run.log.first_nan_step && (best == nullptr || best->strength < kMemory)) {
    return *run.stated_outcome;
  }
  if (run.log.first_nan_step && (best == nullptr || best->strength < kNan)) {
    const auto& records = run.records();
    const auto at = std::ranges::find(records, *run.log.first_nan_step, &Record::step);
    return {Status::nan,
            *run.log.first_nan_step - ahead_of_updates(run),
            at != records.end() ? at->line : 0,
            {make_notice(NoticeCode::loss_not_finite, 0)}};
  }
  if (no_step) {
    if (const auto closed = stated_end(best, begin_line, end)) {
      std::vector<Notice> details = {make_notice(NoticeCode::no_step, 0)};
      if (best != nullptr) add_earlier_failure(begin_line, best->line + 1, details);
      return {Status::completed, std::nullopt, *closed, std::move(details)};
    }
  }
  if (const auto again =
          no_step && best != nullptr ? launch_again(best->line, begin_line, end) : std::nullopt) {
    std::vector<Notice> details = {make_notice(NoticeCode::no_step, 0)};
    add_earlier_failure(begin_line, *again, details);
    return {Status::no_data, std::nullopt, 0, std::move(details)};
  }
  // What happens to a job after its official end, MLPerf's run_stop, is not the run's
  // (quoted/mlperf.the_tail_of_a_log_tells_how_the_run_ended).
  if (best != nullptr && run.official_end && run.ended_well && best->line > run.last_line) {
    return {Status::completed,
            step,
            run.last_line,
            {make_notice(NoticeCode::failed_after_end, 0, name(best->status), best->line,
                         whole_text(*best))}};
  }
  if (best != nullptr) {
    std::vector<Notice> details = {log_line(whole_text(*best))};
    add_timeout_after(*best, end, details);
    add_earlier_failure(begin_line, launch, details);
    return {best->status, step, best->line, std::move(details)};
  }
  if (no_step) return {Status::no_data, std::nullopt, 0, {make_notice(NoticeCode::no_step, 0)}};
  if (done) return {Status::completed, step, run.last_line, {}};
  // What stands before the records of a later run may have ended the one before it; in a log that
  // is cut at its front it ended an epoch.
  const bool first_run = begin_line <= 1;
  const std::int64_t first = first_run || run.records().empty() ? 0 : run.records().front().line;
  // A line that only implies an end counts for nothing where the plan was not reached. A loop that
  // prints each tenth iteration may not print its last one: "iter 490/495", "Done". Its epochs
  // before the last ended there too, as after "iter 280/300" of a counter from 0
  // (quoted/closing_words.an_implied_end_stands_where_the_plan_is_nearly_reached).
  const bool nearly =
      run.ends_epoch || (run.log.planned && last->step + last->iterations > *run.log.planned);
  // A test that stands after all records, and between none of them, is of a loop that stopped
  // early.
  constexpr std::size_t kRecordsThatShow = 3;
  using Kind = ClosingWords::Kind;
  const FailureWords::Words* failure = failing_.after(last->line, end);
  const Kind weakest = failure != nullptr                        ? Kind::stated
                       : !run.log.planned || nearly              ? Kind::implied
                       : run.records().size() < kRecordsThatShow ? Kind::stated
                                                                 : Kind::tested;
  if (const auto closed = closing_.after(first, last->line, end, weakest);
      closed && run.log.kind == WorkKind::training &&
      (failure == nullptr || failure->line != *closed)) {
    return {Status::completed, step, *closed, {}};
  }
  if (failure != nullptr) {
    return {failure->status, step, failure->line, {log_line(failure->text)}};
  }
  // Most loops print nothing else: a log that ends so is of one that came to its end
  // (quoted/generic.a_loop_ends_within_its_last_interval).
  const bool last_line = nearly || (!run.log.planned && ends_off_stride(run));
  if (last_line && run.ends_silently && cut_line_ <= run.last_line &&
      !closing_.goes_on(last->line, end)) {
    return {Status::completed, step, run.last_line, {}};
  }
  return {
      Status::truncated, step, run.last_line, {make_notice(NoticeCode::no_closing_statement, 0)}};
}

}  // namespace bertbench
