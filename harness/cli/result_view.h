// A result set as people read it in a terminal: `extract` and `sweep` end with it.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/console.h"
#include "reports/model/cell_source.h"
#include "reports/model/result_set.h"

namespace bertbench {

[[nodiscard]] std::vector<WorkKind> all_kinds();

struct ViewOptions {
  bool summary_only = false;  ///< one row a cell, no trials
  bool show_log = true;       ///< the log's path in each trial's row
  /// Cells of other kinds of work are one line a kind, but a result of one cell is always shown.
  /// None named: training, or inference (a benchmark) where there is no training.
  std::vector<WorkKind> kinds = all_kinds();
};

/// The answer to stdout: trials cell by cell, estimators side by side where few logs were read,
/// then one row a cell when there are several, then one line a kind that `options` leaves out. Text
/// from logs is escaped.
void print_results(Console& console, const CellSource& cells, const ViewOptions& options);

/// What a reader should know about the numbers shown, to stderr, after them: notices of trials,
/// warnings of cells.
void print_notices(Console& console, const CellSource& cells, const ViewOptions& options = {});

/// "completed", "nan at step 12 (line 340)".
[[nodiscard]] std::string outcome_text(const Outcome& outcome);

}  // namespace bertbench
