// run_sweep: launches the trials of a plan, watches them, measures them and keeps the run folder
// such that any process may die at any instant.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "harness/sweep/plan/plan.h"
#include "parsers/core/error.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// Long enough that a look repeats to a few percent; the median of a run's looks is what counts.
inline constexpr double kProbe_s = 0.05;

struct SweepOptions {
  std::string out;           ///< run folder; made if missing, resumed if it holds a journal
  double grace_s = 10;       ///< between SIGTERM and SIGKILL
  double progress_s = 0.25;  ///< between trial_progress calls
  /// Of each look at the machine's own speed, before and after a trial on this machine; 0: none.
  double probe_s = 0;
  bool handle_signals = true;               ///< SIGINT, SIGTERM and SIGHUP stop the sweep cleanly
  std::string flops_formula;                ///< as MeasureOptions::flops_formula
  const std::atomic<bool>* stop = nullptr;  ///< another way to ask for a stop
};

struct SweepCounts {
  int planned = 0;  ///< trials of the plan
  int reused = 0;   ///< done before this run
  int to_run = 0;   ///< planned - reused
};

struct TrialProgress {
  const PlannedCell* cell = nullptr;
  int trial = 1, trials = 1;  ///< trial i of n of this cell
  int attempt = 1;
  int position = 1, to_run = 1;  ///< i-th launch of this run, of to_run
  std::int64_t step = 0;         ///< as printed by the trainer; 0 = not yet
  std::int64_t steps = 0;        ///< asked of it; 0 = unknown
  double sequences_per_second = std::numeric_limits<double>::quiet_NaN();  ///< recent, whole job
  double elapsed_s = 0;                                                    ///< of this attempt
  double eta_s = std::numeric_limits<double>::quiet_NaN();  ///< of the whole sweep; NaN unknown
};

/// What run_sweep reports while it runs. All calls come from the calling thread.
class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void plan_ready(const Plan&, const SweepCounts&) {}
  virtual void trial_started(const TrialProgress&) {}
  virtual void trial_progress(const TrialProgress&) {}
  virtual void trial_finished(const TrialProgress&, const Trial&) {}
  virtual void notice(const std::string&) {}
};

struct SweepOutcome {
  ResultSet result;          ///< all trials of the plan that ran, now or before
  std::string results_path;  ///< <out>/results.json
  std::string report_path;   ///< <out>/report.html, or .md without an HTML report
  /// Selected trials that ended badly or whose window was not covered.
  int failed_trials = 0;
  /// Of those: what is not launched again, as the window is covered, or as it is out of memory or
  /// NaN.
  int settled_failures = 0;
  int open_trials = 0;  ///< what the same command would launch
  bool interrupted = false;
  int exit_status = 0;  ///< 0 good, 1 a trial failed, 130 interrupted
};

/// An Error is something that stopped the sweep before or between trials: no trainer program,
/// folder not writable, no space left, another harness in the folder (names its pid).
Result<SweepOutcome> run_sweep(const Plan& plan, const SweepOptions& options,
                               SweepObserver& observer);

// How run_sweep finds the largest micro batch that fits.

enum class Fit { fits, out_of_memory, failed };

struct Probe {
  Fit fit = Fit::failed;
  std::string detail;  ///< of what does not fit
};

struct LargestBatch {
  std::int64_t fits = 0;                 ///< 0: not even 1
  std::optional<std::int64_t> does_not;  ///< the smallest tried that is out of memory
  std::string why;                       ///< its detail, or why the search ended early
};

/// Bisection on `probe`. A probe that fails otherwise ends the search at what was known to fit.
/// `most` is where doubling stops. Errors of `probe` are passed on.
[[nodiscard]] Result<LargestBatch> search_batch(
    const std::function<Result<Probe>(std::int64_t)>& probe, std::int64_t most = 1 << 16);

}  // namespace bertbench
