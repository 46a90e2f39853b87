#include "harness/sweep/execute/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/sweep/config/axes.h"
#include "harness/sweep/execute/batch_jobs.h"
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

/// The sweep of a plan in which no batch is left to be searched.
Result<SweepOutcome> run_planned(const Plan& plan, const SweepOptions& options,
                                 SweepObserver& observer) {
  const StopSignals signals(options.handle_signals);
  auto sweep = OpenSweep::open(plan, options, observer, signals);
  if (!sweep) return tl::unexpected(sweep.error());
  return Sweep(*sweep).run();
}

// Batch search: the largest micro batch that fits, for cells whose micro_batch_size is "max".
//
// Each probe is a short trial of its own below <out>/batch_search, with that folder's own journal:
// what was tried is remembered there, so a resumed sweep asks no question twice. Batches double
// until one is out of memory (exit status 12, the log, or the kernel), then the gap is halved.

constexpr std::int64_t kProbeSteps = 2;  // the second one finds the optimizer's state in place

bool asks(const PlannedCell& cell) {
  const auto it = cell.point.find("micro_batch_size");
  return it != cell.point.end() && it->second == kLargestBatch;
}

/// Notices of a probe's run folder (other batches lie there too) are not for the user.
class ProbeObserver : public SweepObserver {
 public:
  void plan_ready(const Plan&, const SweepCounts& counts) override {
    remembered = counts.to_run == 0;
  }
  bool remembered = false;
};

class Search {
 public:
  Search(const Plan& plan, std::size_t cell, const SweepOptions& options, SweepObserver& observer)
      : plan_(plan), cell_(cell), options_(options), observer_(observer) {
    options_.out = (std::filesystem::path(options.out) / "batch_search").string();
  }

  bool interrupted = false;

  Result<Probe> probe(std::int64_t batch) {
    Plan one = plan_;
    one.cells = {plan_.cells[cell_]};
    set_micro_batch(one, 0, batch);
    one.cells[0].warnings.clear();
    one.trials = {{0, 1}};
    one.config.trials = 1;
    one.config.auto_trials = false;
    one.config.retries = 0;
    one.config.steps = one.cells[0].steps = kProbeSteps;
    one.config.window = WindowRule{WindowRule::Kind::all, 0, 0, true};
    ProbeObserver heard;
    const auto outcome = run_planned(one, options_, heard);
    if (!outcome) return tl::unexpected(outcome.error());
    if (outcome->interrupted) {
      interrupted = true;
      return Probe{Fit::failed, "interrupted"};
    }
    Probe out{Fit::failed, "gave no result"};
    if (!outcome->result.cells.empty() && !outcome->result.cells.front().trials.empty()) {
      const Trial& trial = outcome->result.cells.front().trials.back();
      out.detail = detail_text(trial.outcome);
      if (trial.outcome.status == Status::out_of_memory) {
        out.fit = Fit::out_of_memory;
      } else if (!is_failure(trial.outcome.status) && trial.window.covered) {
        out.fit = Fit::fits;
      } else if (out.detail.empty()) {
        out.detail = name(trial.outcome.status);
      }
    }
    if (!heard.remembered) {
      observer_.notice(fmt::format(
          "batch search, {}: {} {}", plan_.cells[cell_].key, batch,
          out.fit == Fit::fits
              ? "fits"
              : (out.fit == Fit::out_of_memory ? "is out of memory" : "failed: " + out.detail)));
    }
    return out;
  }

 private:
  const Plan& plan_;
  std::size_t cell_;
  SweepOptions options_;
  SweepObserver& observer_;
};

std::string found_text(const LargestBatch& found) {
  if (found.fits == 0) {
    return "micro_batch_size max: not even 1 fits; " + found.why;
  }
  if (!found.does_not) {
    return fmt::format("micro_batch_size max: {} by search{}", found.fits,
                       found.why.empty() ? ", no larger one was tried" : "; " + found.why);
  }
  return fmt::format("micro_batch_size max: {} by search, {} is out of memory{}", found.fits,
                     *found.does_not, found.why.empty() ? "" : ": " + found.why);
}

}  // namespace

Result<LargestBatch> search_batch(const std::function<Result<Probe>(std::int64_t)>& probe,
                                  std::int64_t most) {
  LargestBatch found;
  std::int64_t next = 1;
  while (next > found.fits && (!found.does_not || next < *found.does_not)) {
    const auto tried = probe(next);
    if (!tried) return tl::unexpected(tried.error());
    if (tried->fit == Fit::failed) {
      found.why = fmt::format("the probe of {} failed ({})", next, tried->detail);
      break;
    }
    if (tried->fit == Fit::fits) {
      found.fits = next;
    } else {
      found.does_not = next;
      found.why = tried->detail;
    }
    next = found.does_not ? found.fits + (*found.does_not - found.fits) / 2
                          : std::min(most, 2 * found.fits);
  }
  return found;
}

namespace {

/// True where the plan has cells whose batch is still to be searched.
bool needs_batch_search(const Plan& plan) {
  return std::ranges::any_of(
      plan.trials, [&](const PlannedTrial& trial) { return asks(plan.cells[trial.cell]); });
}

/// The plan with every "max" of a selected cell replaced by what was found; the cell gets a warning
/// that names it. A cell whose answer the grid holds already is not measured twice. Nothing is
/// launched when no cell asks. None: the search was interrupted.
Result<std::optional<Plan>> resolve_batches(const Plan& plan, const SweepOptions& options,
                                            SweepObserver& observer) {
  Plan out = plan;
  std::set<std::string> keys;
  for (const auto& cell : plan.cells) {
    if (!asks(cell)) keys.insert(cell.key);
  }
  std::set<std::size_t> selected, dropped;
  for (const auto& trial : plan.trials) {
    if (asks(plan.cells[trial.cell])) selected.insert(trial.cell);
  }
  for (const std::size_t cell : selected) {
    Search search(plan, cell, options, observer);
    const auto found = search_batch([&](std::int64_t batch) { return search.probe(batch); });
    if (!found) return tl::unexpected(found.error());
    if (search.interrupted) return std::nullopt;
    // Where nothing fits, 1 is measured: its failure is the row that the report shows.
    Identity identity = plan.cells[cell].identity;
    identity.micro_batch_size = std::max<std::int64_t>(1, found->fits);
    if (!keys.insert(identity.key()).second) {
      observer.notice(fmt::format("{}: the largest batch is {}, a cell of the grid already",
                                  plan.cells[cell].key, found->fits));
      dropped.insert(cell);
      continue;
    }
    set_micro_batch(out, cell, *identity.micro_batch_size);
    out.cells[cell].warnings.push_back(make_notice(NoticeCode::batch_found, 0, found_text(*found)));
  }
  std::erase_if(out.trials,
                [&](const PlannedTrial& trial) { return dropped.contains(trial.cell); });
  if (out.trials.empty()) {
    return fail("batch search", "leaves no cell to measure", "add cells to the grid");
  }
  return out;
}

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

}  // namespace bertbench
