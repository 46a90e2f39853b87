// OpenSweep: the run folder as this start of the harness has opened it, and what all parts of the
// start work with.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/execute/measure_attempt.h"
#include "harness/sweep/execute/runner.h"
#include "harness/sweep/journal/journal.h"
#include "harness/sweep/journal/run_state.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/process/stop_signals.h"

namespace bertbench {

struct OpenSweep {
  /// Everything that can be found wrong before the first launch is found here. Processes and jobs
  /// of earlier starts that would disturb this one have ended when it returns.
  static Result<OpenSweep> open(const Plan& plan, const SweepOptions& options,
                                SweepObserver& observer, const StopSignals& signals);

  const Plan& plan;
  const SweepOptions& options;
  SweepObserver& observer;
  const Launcher& launcher;
  const StopSignals& signals;
  Folder root;
  Journal journal;
  RunState earlier;                    ///< what earlier starts left, and the id of the folder
  nlohmann::ordered_json environment;  ///< of the start that made the folder
  std::string own_id;                  ///< program_stamp() of this program

  [[nodiscard]] bool stopping() const;
  /// program_stamp() of the trainer of a cell, "" where it is not there.
  [[nodiscard]] const std::string& trainer_id(std::size_t cell) const;
  /// Where an attempt that this start launches stands among those that can be its pair: nothing
  /// without variants, for what a queue runs in a job of its own, on nodes of its own, and for what
  /// is tried again without the others that it took turns with.
  [[nodiscard]] std::optional<BlockPlace> block_of(const PlannedTrial& trial, bool again) const;
  /// Of an attempt, below the root: "<cell>/trial_1", further ones "<cell>/trial_1/attempt_2".
  [[nodiscard]] std::string attempt_path(const PlannedTrial& trial, int attempt) const;
  [[nodiscard]] Result<Folder> attempt_folder(const PlannedTrial& trial, int attempt) const;
  /// Hands what the journal noticed since the last call to the observer.
  void report_journal_notices();

 private:
  std::size_t journal_notices_reported_ = 0;
  std::map<std::string, std::string> trainer_ids_;  // by program

  OpenSweep(const Plan& p, const SweepOptions& o, SweepObserver& w, const StopSignals& s,
            Folder folder, Journal lines)
      : plan(p),
        options(o),
        observer(w),
        launcher(*p.launcher),
        signals(s),
        root(std::move(folder)),
        journal(std::move(lines)) {}
  Result<void> replay_journal();
  Result<void> end_earlier_processes(const std::string& boot);
  Result<void> note_environment(const std::string& config);
  /// What `bertbench doctor --launcher NAME --out DIR` found, for the report.
  void note_preflight();
};

/// Digest of the command of a trial: everything but what differs from launch to launch by nature.
Result<std::string> command_digest(const OpenSweep& sweep, const PlannedTrial& trial);

// What earlier starts left of each trial in the run folder. A trial is done when its log shows it:
// a log that is not as it was when this program measured it is read again, on all cores, as there
// may be ten thousand of them.

struct EarlierTrial {
  PlannedTrial trial;
  bool wanted = false;   ///< by this start, which launches it unless it is settled
  bool settled = false;  ///< needs no further launch
  bool command_changed = false;
  int next_attempt = 1;
  std::vector<Notice> cut_short{};    ///< of the attempt before that, which the sweep ended
  double seconds = 0;                 ///< the settled attempt took
  std::optional<BlockPlace> block{};  ///< of the settled attempt, or of the one that a job runs
  std::string nodes{};                ///< that it ran on, where a launcher records them
  std::string job{};                  ///< of a queue, that runs the attempt since an earlier start
  std::optional<MeasuredAttempt> measured{};
};

/// A pair is whole when its halves ran in one start of the sweep: a half of which the other is
/// still to be launched is launched again with it, and what was measured of it is left out.
///
/// The trials of this start, then those of which earlier starts left something: --only leaves cells
/// out of this start, not out of the result.
Result<std::vector<EarlierTrial>> review_earlier_trials(const OpenSweep& sweep);

}  // namespace bertbench
