// Measuring: run log -> trial -> cell -> result set. Pure functions on values; nothing is printed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "parsers/core/facts.h"
#include "parsers/core/notice.h"
#include "parsers/core/run_log.h"
#include "parsers/core/window_rule.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct MeasureOptions {
  Facts given;            ///< facts of the command line, trusted above the log's and the path's
  WindowRule window;      ///< default `auto`
  std::string estimator;  ///< name of an estimator; empty = the default order of estimators.h
  bool compat_dlperf = false;  ///< round as the published DLPerf tables were rounded
  /// Leaves out of a trial what a table of cells does not show and no notice follows from: step
  /// times, parts of the time, the rate's interval, reconciliation.
  bool summary_only = false;
  std::string
      base;  ///< base of speedups: a cell's key or a topology ("1n8g"); empty = world size 1
  std::string flops_formula;  ///< a key of flops_formulas() (stats/flops.h); empty = the default
};

/// One run log under one window. `merged` are the facts that hold for the run (given > log > path).
/// Never fails: what the log does not allow is absent, with a notice that says why.
[[nodiscard]] Trial measure_trial(const RunLog& log, const Facts& merged,
                                  const MeasureOptions& options);

struct SummaryOptions {
  bool compat_dlperf = false;
  std::string base;  ///< as MeasureOptions::base
  /// Results of several runs, one behind the other: the index of the first cell of each run but the
  /// first one. A cell's base is one of its own run, if that has one.
  std::vector<std::size_t> run_begins = {};
  /// As MeasureOptions::flops_formula; empty = the one that a cell names already, else the default.
  std::string flops_formula = {};
};

/// Fills everything of every cell that follows from its trials and from the other cells: n, mean,
/// median, spread, intervals, per GPU, speedup, efficiency, precision speedup, FLOPs; and makes
/// keys unique ("#2"). May be called again. Returns what a reader should know (an unknown base
/// ...).
std::vector<Notice> summarize(ResultSet& results, const SummaryOptions& options = {});

class CellSource;    // reports/model/cell_source.h
class MeasuredLogs;  // reports/cells/measured_logs.h

/// A log with its measure and what its place says of the cell it belongs to, before grouping.
struct MeasuredLog {
  Identity identity;
  WorkKind kind = WorkKind::training;
  Trial trial;
  bool numbered = false;  ///< the trial's number is known, not to be given by the builder
  std::string tree;       ///< "": the tree says nothing; else what logs of one cell share
  std::optional<std::int64_t> world_size, global_batch_size;  ///< as the log states them
  std::string gpu;
};

/// Measures a log whose facts are found here: given > log > path; disagreements become notices of
/// its trial. Threads may measure side by side.
[[nodiscard]] MeasuredLog measure_log(const RunLog& log, const MeasureOptions& options);

/// Collects run logs and trials, groups them into cells, numbers trials, summarizes.
///
/// Logs join one cell only if all eight facts of the identity are known and equal, or if their tree
/// says so: the same DLPerf cell folder (".../4n8g/bert_b32_fp16_3.log") or the same cell folder of
/// a run (".../<key>/trial_2/log.txt"). Any other log is a cell of its own.
class ResultBuilder {
 public:
  explicit ResultBuilder(MeasureOptions options);
  ~ResultBuilder();
  ResultBuilder(ResultBuilder&&) noexcept;
  ResultBuilder& operator=(ResultBuilder&&) noexcept;

  /// add() of measure_log().
  void add_log(const RunLog& log);
  /// A trial whose cell is known (sweeps). Trials of equal identity and kind join. Of several
  /// attempts at one trial the last one counts and the others are notices on it.
  void add_trial(const Identity& identity, WorkKind kind, Trial trial);
  /// A log that was measured; its number among all that were added.
  std::size_t add(MeasuredLog log);
  /// What was added so far.
  [[nodiscard]] MeasuredLogs& logs();
  /// The cell's nodes or GPUs are stand-ins (Cell::emulated).
  void mark_emulated(const Identity& identity, WorkKind kind);

  /// Groups, numbers, summarizes, stamps with the time and the tool's version. Memory grows by some
  /// hundred bytes a log; the builder is empty afterwards.
  [[nodiscard]] std::unique_ptr<CellSource> finish_cells();
  /// finish_cells() with all cells and trials in memory.
  [[nodiscard]] ResultSet finish();
  /// Notices that belong to no trial; complete after finish_cells() or finish().
  [[nodiscard]] const std::vector<Notice>& notices() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bertbench
