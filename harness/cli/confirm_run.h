// check --confirm: measures the flagged cells once more, then decides.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/cli/console.h"
#include "reports/gate/verdicts.h"
#include "reports/stats/stopping.h"

namespace bertbench {

struct ConfirmOptions {
  std::string config;            ///< of the sweep that measured the result; empty: no confirmation
  std::string out;               ///< run folder of the rerun; empty: next to the result
  std::string trainer;           ///< as in sweep
  std::vector<std::string> set;  ///< as in sweep
  std::string hosts;       ///< in place of the configuration's: names with commas, or a hostfile
  bool elsewhere = false;  ///< on nodes of Slurm that the flagged cells did not run on
  /// Called before a rerun that ends its pairs by a rule; an error where such a rerun cannot be
  /// judged.
  std::function<Result<void>(const StoppingRule&)> fits;
};

/// Decides anew, with the rerun (`confirm`, `confirm_paired`).
using Decide = std::function<GateReport(GateReport first, const ResultSet& rerun)>;

/// Runs the cells of `first`, which is of `measured`, the file or run folder `result`, that are
/// regressions with the configuration, in a run folder that no
/// sweep has used, and gives the report that `decide` makes of it. Of a report of pairs the base is
/// run with them, in turn as in the sweep, and no other variant. Cells that the configuration does
/// not hold keep their verdict, with a notice. Without a regression nothing is run.
[[nodiscard]] Result<GateReport> confirm_by_rerun(GateReport first, const ResultSet& measured,
                                                  const std::string& result, const Decide& decide,
                                                  const ConfirmOptions& options, Console& console);

}  // namespace bertbench
