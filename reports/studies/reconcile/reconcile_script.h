// Which of a log's numbers its script used for the throughput that it prints at the end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "reports/studies/reconcile/reconcile.h"

namespace bertbench {

/// The numbers that a script could have used.
struct ScriptInputs {
  std::optional<std::int64_t> per_iteration;  ///< sequences per iteration of the counter
  std::optional<std::int64_t> accumulation, world_size;
  std::optional<double> total;               ///< sequences/s
  std::optional<double> training;            ///< the same over the stated time of training alone
  std::map<std::string, double> estimators;  ///< of this log, in the unit of the statement
};

/// Compares the statement with every candidate to its printed digits. The first redraw, the last
/// redraw and the estimators come first; then the same off by the accumulation, the world size or
/// the batch, the usual mistakes of such scripts. Nothing is said when nothing fits.
[[nodiscard]] ScriptNumber explain_script(const RunLog& log, const ScriptInputs& inputs);

}  // namespace bertbench
