// SweepRun: one start of the harness on one run folder. The steps that run_sweep puts in order.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/sweep/execute/measure_attempt.h"
#include "harness/sweep/execute/runner.h"
#include "harness/sweep/journal/journal.h"
#include "harness/sweep/journal/run_state.h"
#include "harness/sweep/observe/telemetry.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/plan/template_call.h"
#include "harness/sweep/process/stop_signals.h"

namespace bertbench {

/// An attempt whose start is in the journal and whose end is not.
struct OpenAttempt {
  PlannedTrial trial;
  int attempt = 1;
  std::string path;  ///< of its folder, below the run folder
  Folder folder;
  int log_fd = -1;  ///< log.txt, readable, O_APPEND; closed with this
  LaunchPlace place;
  std::vector<ProcessSpec> processes;
  OwnLogs own_logs;  ///< that the trainer writes itself
  TrialProgress progress;
  nlohmann::ordered_json telemetry;  ///< null: nothing was seen
  bool training_told = false;        ///< the samplers of its nodes know that steps are logged
  /// The first step that was seen, and when: up to there the trainer started up and compiled.
  std::optional<std::pair<std::int64_t, double>> first_step_at;

  OpenAttempt(PlannedTrial t, int number, std::string where, Folder f);
  OpenAttempt(OpenAttempt&& other) noexcept;
  OpenAttempt& operator=(OpenAttempt&&) = delete;
  ~OpenAttempt();
  /// The members that name it in a journal record.
  [[nodiscard]] nlohmann::ordered_json who(const PlannedCell& cell) const;
};

class SweepRun {
  friend class BatchRun;

 public:
  SweepRun(const Plan& plan, const SweepOptions& options, SweepObserver& observer,
           const Launcher& launcher);

  /// Everything that can be found wrong before the first launch is found here.
  Result<void> open();
  /// Measures again what earlier runs left, and tells the plan to the observer.
  Result<void> reuse();
  /// Launches what is missing.
  Result<void> launch();
  /// Writes the results and the report, closes the journal.
  Result<SweepOutcome> finish();

 private:
  /// The number that stands for a trial in the result, from whichever attempt.
  struct Kept {
    MeasuredAttempt measured;
  };
  /// What earlier starts left of a trial.
  struct Found {
    bool settled = false;  ///< needs no further launch
    bool command_changed = false;
    int next_attempt = 1;
    double seconds = 0;  ///< the settled attempt took
    std::string nodes;   ///< that it ran on, where a launcher tells
    std::string job;     ///< of a queue, that runs the attempt since an earlier start
    std::optional<MeasuredAttempt> measured;
  };
  struct Pending {
    PlannedTrial trial;
    int attempt = 1;  ///< next
    std::string job;  ///< of a queue, that runs this attempt since an earlier start
  };
  using CellTrial = std::pair<std::size_t, int>;

  Result<std::string> command_digest(const PlannedTrial& trial) const;
  [[nodiscard]] std::string attempt_path(const PlannedTrial& trial, int attempt) const;
  Result<Folder> attempt_folder(const PlannedTrial& trial, int attempt) const;
  /// `cells_command`: digest of the command, where the trials of the cell share it; filled in.
  [[nodiscard]] Result<Found> look_at(const PlannedTrial& trial,
                                      std::optional<std::string>& cells_command) const;
  struct ReadAgain {
    MeasuredAttempt measured;
    bool legible = false;  ///< there is a log of a known format
  };
  /// An attempt of an earlier start, as it counts now.
  struct Reviewed {
    MeasuredAttempt measured;
    bool settles = false;  ///< its trial: a rate, or an end that a further launch would meet again
  };
  Result<std::vector<RunLog>> read_own_log(const PlannedTrial& trial, int attempt,
                                           const ReadOptions& options) const;
  Result<ReadAgain> read_again(const PlannedTrial& trial, const AttemptState& attempt,
                               const std::string& folder) const;
  /// What this program measured of it before, if its log is as it was then.
  [[nodiscard]] std::optional<MeasuredAttempt> recall(const AttemptState& attempt,
                                                      const std::string& folder) const;
  /// Measured (or recalled), with the outcome that the journal knows and the telemetry.
  [[nodiscard]] Result<Reviewed> review(const PlannedTrial& trial,
                                        const AttemptState& attempt) const;
  // Parts of reuse().
  [[nodiscard]] std::vector<PlannedTrial> trials_to_report() const;
  [[nodiscard]] std::vector<Result<Found>> look_at_all(
      const std::vector<PlannedTrial>& trials) const;
  void take_over(const PlannedTrial& trial, Found found, bool wanted);
  void tell_cells_left_out();
  Result<void> run_trial(Pending pending);
  Result<bool> run_one(const PlannedTrial& trial, int attempt, std::vector<Notice>& earlier);
  /// What an earlier start left in the folder of an attempt that begins again.
  void clear_attempt(const Folder& folder, const OwnLogs& own) const;
  /// Folder, empty log, files, command.json, "started" in the journal.
  Result<OpenAttempt> begin_attempt(const PlannedTrial& trial, int attempt);
  /// An attempt that a job of an earlier start runs: its log and its start
  /// stay.
  Result<OpenAttempt> take_over_attempt(const PlannedTrial& trial, int attempt);
  /// What the nodes of an attempt ("node host" a line) mean for its cell, for
  /// the report.
  void label_placement(const PlannedTrial& trial, const std::string& nodes);
  void tell_progress(OpenAttempt& attempt, const LiveView& live, double elapsed);
  [[nodiscard]] TrialLogs::Readers readers_of(const OpenAttempt& attempt) const;
  /// Measures it, writes its files and "finished"; true if another attempt is worth making. What
  /// came of it goes to `earlier`, as a notice for the next one.
  Result<bool> end_attempt(OpenAttempt& open, const AttemptEnd& end, std::vector<Notice>& earlier);
  /// Its trial with the outcome that log and process give together, and what befell its log.
  Result<MeasuredAttempt> measure_ended(OpenAttempt& open, const AttemptEnd& end,
                                        std::optional<std::int64_t> last_step) const;
  /// Its files, and "finished" in the journal.
  Result<void> record_end(const OpenAttempt& open, const AttemptEnd& end,
                          const MeasuredAttempt& measured);
  Result<void> write_command(const Folder& folder, const PlannedTrial& trial,
                             const std::vector<ProcessSpec>& processes,
                             const std::vector<TrialFile>& files) const;
  Result<void> write_results(bool always);
  ResultSet collect();
  TrialProgress progress_of(const PlannedTrial& trial, int attempt) const;
  [[nodiscard]] double eta(const PlannedTrial& now, double remaining_s);
  double eta_of_later_trials();
  void tell_journal_notices();
  // Parts of open().
  Result<void> open_folder();
  Result<void> end_earlier_processes(const std::string& boot);
  Result<void> note_environment(const std::string& config);
  [[nodiscard]] bool stopping() const;
  /// With trials "auto": the cell has been measured often enough.
  [[nodiscard]] bool settled(std::size_t cell) const;
  /// Where nodes are watched: what their samplers left in the folder of the attempt, joined.
  void take_telemetry_of_nodes(OpenAttempt& open);
  /// Null where the trainers do not run on this machine.
  [[nodiscard]] std::unique_ptr<Telemetry> telemetry_of(const PlannedTrial& trial) const;

  const Plan& plan_;
  const SweepOptions& options_;
  SweepObserver& observer_;
  const Launcher& launcher_;
  StopSignals signals_;
  std::optional<Folder> root_;
  std::optional<Journal> journal_;
  RunState state_;
  nlohmann::ordered_json environment_;
  std::string program_id_, own_id_;  // program_stamp() of the trainer and of this program
  std::map<CellTrial, Kept> kept_;
  std::vector<Pending> pending_;
  std::set<std::string> spared_jobs_;                     // of trials that --only leaves out
  std::size_t position_ = 0;                              // 1-based, of pending_
  std::map<std::size_t, std::vector<double>> durations_;  // cell -> seconds of finished attempts
  std::chrono::steady_clock::time_point results_written_{}, later_at_{};
  double later_s_ = 0;  // of the trials behind position_, at later_at_
  std::size_t notices_told_ = 0;
  std::set<std::string> missing_told_;  // why nodes have no telemetry
  double results_cost_s_ = 0;
  bool interrupted_ = false;
  std::unique_ptr<Nvml> nvml_;                // null where there is no GPU
  std::optional<std::int64_t> memory_bytes_;  // of this machine or our cgroup
  bool one_machine_ = false;                  // nodes of the queue are stand-ins on one machine
  std::map<std::size_t, std::vector<Notice>> placement_;  // cell -> warnings
};

/// run_sweep of a plan in which no batch is left to be searched.
Result<SweepOutcome> run_planned(const Plan& plan, const SweepOptions& options,
                                 SweepObserver& observer);

}  // namespace bertbench
