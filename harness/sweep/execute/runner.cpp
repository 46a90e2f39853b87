#include "harness/sweep/execute/runner.h"

#include <fmt/format.h>

#include <set>

#include "harness/sweep/execute/batch_jobs.h"
#include "harness/sweep/execute/batch_search.h"
#include "harness/sweep/execute/earlier_trials.h"
#include "harness/sweep/execute/hooks.h"
#include "harness/sweep/execute/sweep_results.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

/// One start of the harness on one run folder.
class Sweep {
 public:
  explicit Sweep(OpenSweep& sweep)
      : sweep_(sweep), placement_(sweep), results_(sweep, placement_) {}

  Result<SweepOutcome> run() {
    auto earlier = review_earlier_trials(sweep_);
    if (!earlier) return tl::unexpected(earlier.error());
    for (auto& trial : *earlier) take_over(trial);
    fill_queue();
    report_plan();
    if (auto done = launch_between_hooks(); !done) {
      // What was measured before the error is worth having; the first error is the one to report.
      sweep_.report_journal_notices();
      (void)results_.write(true);
      (void)sweep_.journal.append({{"event", "closed"}, {"why", done.error().message()}});
      return tl::unexpected(done.error());
    }
    auto outcome = results_.finish(interrupted_);
    if (!outcome) return outcome;
    const auto* why = interrupted_ ? "interrupted" : "done";
    if (auto done = sweep_.journal.append({{"event", "closed"}, {"why", why}}); !done) {
      return tl::unexpected(done.error());
    }
    return outcome;
  }

 private:
  using Retry = SweepResults::Retry;

  void take_over(EarlierTrial& earlier) {
    const auto& trial = earlier.trial;
    if (earlier.command_changed) {
      sweep_.observer.notice(
          fmt::format("{} trial {}: its command has changed, so it is measured anew",
                      sweep_.plan.cells[trial.cell].key, trial.trial));
    }
    if (earlier.settled && earlier.seconds > 0) queue_.took(trial.cell, earlier.seconds);
    const bool launched = earlier.wanted && !earlier.settled;
    if (earlier.measured) {
      results_.keep(trial, std::move(*earlier.measured), launched ? Retry::pending : Retry::none);
    }
    if (!earlier.nodes.empty()) placement_.add(trial.cell, earlier.nodes);
    if (!launched && !earlier.job.empty()) jobs_.spared.insert(earlier.job);
    if (!launched) return;
    WantedAttempt wanted{trial, earlier.next_attempt,
                         earlier.next_attempt + sweep_.plan.config.retries};
    wanted.earlier = std::move(earlier.cut_short);
    if (earlier.job.empty()) {
      wanted_.push_back(std::move(wanted));
    } else {
      jobs_.wanted[earlier.job].push_back(std::move(wanted));
    }
  }

  void report_cells_left_out() {
    std::set<std::string> keys, gone;
    for (const auto& cell : sweep_.plan.cells) keys.insert(cell.key);
    for (const auto& [name, attempts] : sweep_.earlier.trials) {
      if (!keys.contains(name.first)) gone.insert(name.first);
    }
    if (gone.empty()) return;
    const char* are = gone.size() == 1 ? "is" : "are";
    sweep_.observer.notice(
        fmt::format("{} of the run folder {} not in this grid and {} left out: {}",
                    counted(gone.size(), "cell"), are, are, fmt::join(gone, ", ")));
  }

  /// Fills the queue with what is still to be measured.
  void fill_queue() {
    (void)results_.settled_with(0);  // what the trials of earlier starts have ended
    const auto settled = [&](const WantedAttempt& one) { return results_.settled(one.trial.cell); };
    std::erase_if(wanted_, settled);
    for (auto& wanted : wanted_) queue_.add(std::move(wanted));
    for (auto& [job, members] : jobs_.wanted) {
      std::erase_if(members, settled);
      for (auto& wanted : members) queue_.add_running(wanted);
    }
    std::erase_if(jobs_.wanted, [](const auto& job) { return job.second.empty(); });
  }

  void report_plan() {
    report_cells_left_out();
    SweepCounts counts;
    counts.planned = static_cast<int>(sweep_.plan.trials.size());
    counts.to_run = queue_.trials();
    counts.reused = counts.planned - counts.to_run;
    sweep_.observer.plan_ready(sweep_.plan, counts);
  }

  Result<std::unique_ptr<AttemptRunner>> make_runner() {
    const auto* batch = sweep_.launcher.queue();
    if (!batch) return make_local_attempts(sweep_, queue_, placement_);
    return make_batch_jobs(sweep_, queue_, placement_, *batch, std::move(jobs_));
  }

  Result<void> launch_between_hooks() {
    if (queue_.empty() && jobs_.wanted.empty()) return launch();
    const auto failed = run_hook(sweep_, Hook::setup);
    auto done = failed.empty()      ? launch()
                : sweep_.stopping() ? Result<void>{}
                                    : fail("setup of the sweep", failed, "no trial was started");
    if (!failed.empty() && sweep_.stopping()) interrupted_ = true;
    if (const auto left = run_hook(sweep_, Hook::cleanup); !left.empty()) {
      sweep_.observer.notice(left);
    }
    return done;
  }

  Result<void> launch() {
    const auto runner = make_runner();
    if (!runner) return tl::unexpected(runner.error());
    while (!queue_.empty() || !(*runner)->idle()) {
      interrupted_ = sweep_.stopping();
      if (!interrupted_) {
        if (auto done = (*runner)->start(); !done) return done;
      }
      auto ended = interrupted_ ? (*runner)->stop() : (*runner)->poll();
      if (!ended) return tl::unexpected(ended.error());
      for (auto& one : *ended) {
        if (auto done = conclude(**runner, one); !done) return done;
      }
      if (interrupted_) return {};
    }
    (*runner)->close();
    return {};
  }

  /// From the end of an attempt to its place in the results, and to another attempt where one is
  /// worth making.
  Result<void> conclude(AttemptRunner& runner, EndedAttempt& ended) {
    auto& [open, end] = ended;
    const auto cell = open->wanted.trial.cell;
    auto measured = measure_ended(sweep_, ended);
    if (!measured) return tl::unexpected(measured.error());
    const auto outcome = measured->trial.outcome;
    const bool covered = measured->trial.window.covered;
    // The next phase goes on from where this one ends, so it must have ended by itself.
    const bool later_phase = open->cell.has_later_phase();
    const bool whole = covered && (!later_phase || outcome.status == Status::completed);
    if (end.cause == EndCause::stopped) {
      // Not the trial's fault, whatever its window covers: what it would have done next is unknown.
      // It has no end in the journal and is launched again on resume.
      sweep_.observer.trial_finished(open->progress, measured->trial);
      return {};
    }
    if (auto done = record_end(sweep_, ended, *measured); !done) return done;
    sweep_.report_journal_notices();
    if (covered) queue_.took(cell, end.seconds);
    open->progress.elapsed_s = end.seconds;
    open->progress.step = end.last_step().value_or(open->progress.step);
    // A queue's job has begun the next phase already: both are run again by the next start.
    const bool at_once = !later_phase || !sweep_.launcher.queue();
    const bool again = !whole && at_once && open->wanted.attempt < open->wanted.last_attempt &&
                       end.cause != EndCause::log_limit && worth_retrying(outcome, end.exit);
    const auto& trial = results_.keep(open->wanted.trial, std::move(*measured),
                                      again ? Retry::pending : Retry::none);
    sweep_.observer.trial_finished(open->progress, trial);
    if (again) {
      auto next = open->wanted;
      next.earlier.push_back(
          make_notice(NoticeCode::attempt_before, 0, next.attempt,
                      fmt::format("{}{}{}", name(outcome.status),
                                  outcome.details.empty() ? "" : ": ", detail_text(outcome))));
      ++next.attempt;
      next.again = true;
      queue_.put_first(std::move(next));
    } else if (!whole) {
      leave_out_later_phases(open->wanted.trial);
    }
    for (const auto settled : results_.settled_with(cell)) {
      queue_.drop(settled);
      if (auto done = runner.drop(settled); !done) return done;
    }
    return results_.write(false);
  }

  /// A phase that failed leaves no checkpoint that the next one could go on from.
  void leave_out_later_phases(const PlannedTrial& failed) {
    const auto& cell = sweep_.plan.cells[failed.cell];
    const std::size_t later = cell.phases.size() - static_cast<std::size_t>(cell.phase);
    if (cell.phases.empty() || later == 0) return;
    for (std::size_t i = 1; i <= later; ++i) queue_.drop(failed.cell + i, failed.trial);
    sweep_.observer.notice(
        fmt::format("{} trial {}: phase {} failed, so the later ones are not run", cell.key,
                    failed.trial, cell.phase));
  }

  OpenSweep& sweep_;
  PlacementLabels placement_;
  SweepResults results_;
  AttemptQueue queue_;
  std::vector<WantedAttempt> wanted_;  // until it is known which cells are settled
  EarlierJobs jobs_;
  bool interrupted_ = false;
};

}  // namespace

Result<SweepOutcome> run_sweep(const Plan& plan, const SweepOptions& options,
                               SweepObserver& observer) {
  if (!needs_batch_search(plan)) return run_planned(plan, options, observer);
  const auto resolved = resolve_batches(plan, options, observer);
  if (!resolved) return tl::unexpected(resolved.error());
  if (*resolved) return run_planned(**resolved, options, observer);
  SweepOutcome interrupted;
  interrupted.interrupted = true;
  interrupted.exit_status = 130;
  return interrupted;
}

Result<SweepOutcome> run_planned(const Plan& plan, const SweepOptions& options,
                                 SweepObserver& observer) {
  const StopSignals signals(options.handle_signals);
  auto sweep = OpenSweep::open(plan, options, observer, signals);
  if (!sweep) return tl::unexpected(sweep.error());
  return Sweep(*sweep).run();
}

}  // namespace bertbench
