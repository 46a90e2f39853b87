// From measured logs to a result set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/notice.h"
#include "parsers/core/run_log.h"
#include "reports/measure/measure.h"
#include "reports/model/result_set.h"

namespace bertbench {

class CellSource;    // reports/model/cell_source.h
class MeasuredLogs;  // reports/cells/measured_logs.h

/// A measured log, and what its path implies about its cell, before grouping.
struct MeasuredLog {
  Identity identity;
  WorkKind kind = WorkKind::training;
  Trial trial;
  bool numbered = false;  ///< the trial's number is known, not to be given by the builder
  std::string tree;       ///< "": the tree shows nothing; else what logs of one cell share
  std::optional<std::int64_t> world_size, global_batch_size;  ///< as the log states them
  std::string gpu;
};

/// Measures a log whose facts are found here: given > log > path; disagreements become notices of
/// its trial. Threads may measure side by side.
[[nodiscard]] MeasuredLog measure_log(const RunLog& log, const MeasureOptions& options);

/// Collects run logs and trials, groups them into cells, numbers trials, summarizes.
///
/// Logs join one cell only if all eight facts of the identity are known and equal, or if their tree
/// shows it: the same DLPerf cell folder (".../4n8g/bert_b32_fp16_3.log") or the same cell folder
/// of a run (".../<key>/trial_2/log.txt"). Any other log is a cell of its own.
class ResultBuilder {
 public:
  explicit ResultBuilder(MeasureOptions options);
  ~ResultBuilder();

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
