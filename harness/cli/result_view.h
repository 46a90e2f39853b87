// A result set as people read it in a terminal: `extract` and `sweep` end with it.
#pragma once

#include <string>

#include "harness/cli/console.h"
#include "reports/model/cell_source.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct ViewOptions {
  bool summary_only = false;  ///< one row a cell, no trials
  bool show_log = true;       ///< the log's path in each trial's row
};

/// The answer to stdout: trials cell by cell, estimators side by side where few logs were read,
/// then one row a cell when there are several. Text from logs is escaped.
void print_results(Console& console, const CellSource& cells, const ViewOptions& options);
void print_results(Console& console, const ResultSet& set, const ViewOptions& options);

/// What a reader should know about the numbers, to stderr: notices of trials, warnings of cells.
void print_notices(Console& console, const CellSource& cells);
void print_notices(Console& console, const ResultSet& set);

/// "completed", "nan at step 12 (line 340)".
[[nodiscard]] std::string outcome_text(const Outcome& outcome);

}  // namespace bertbench
