// A gate's verdicts for CI systems (JUnit, GitHub annotations, a job summary), and as the table of
// `check --paired` and of the page of a run with variants.
#pragma once

#include <string>

#include "reports/gate/verdicts.h"
#include "reports/output/table.h"

namespace bertbench {

/// One test case a cell. Regression and missing: failure; not comparable: error; inconclusive and
/// new: skipped; each with the verdict's reason. What --accept-inconclusive or --allow-missing let
/// pass is skipped, never a failure.
[[nodiscard]] std::string gate_junit(const GateReport& report, const GateOptions& options,
                                     const std::string& name);

/// Workflow commands of GitHub Actions, a line each: ::error for what fails the gate, ::warning for
/// what it cannot decide, ::notice for improvements and the gate's own notices.
[[nodiscard]] std::string github_annotations(const GateReport& report, const GateOptions& options);

/// Markdown for $GITHUB_STEP_SUMMARY: the outcome, then a table of the cells that did not pass.
[[nodiscard]] std::string gate_markdown(const GateReport& report, const std::string& name);

/// "3 cells compared, 2 pass, 1 regression".
[[nodiscard]] std::string counts_text(const GateReport& report);

/// How a pair's change is shown, and whose verdict the row has.
enum class PairsAs {
  changes,  ///< "-5.0 %"; the cell's, of speed, memory, loss and parts
  ratios,   ///< "0.9500"; that of speed alone
};

/// verdict, cell, rate of the base, rate of the variant, unit, change or ratio, its interval, pairs
/// ("(+1)" those left out), p after Holm. A row for each cell of the report, in its order.
[[nodiscard]] Table pairs_table(const GateReport& report, PairsAs as);

}  // namespace bertbench
