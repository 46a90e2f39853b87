// The table of a gate's verdicts by pairs, for `check --paired` and for the page of a run with
// variants.
#pragma once

#include "reports/gate/verdicts.h"
#include "reports/output/table.h"

namespace bertbench {

/// How a pair's change is shown, and whose verdict the row has.
enum class PairsAs {
  changes,  ///< "-5.0 %"; the cell's, of speed, memory, loss and parts
  ratios,   ///< "0.9500"; that of speed alone
};

/// verdict, cell, rate of the base, rate of the variant, unit, change or ratio, its interval, pairs
/// ("(+1)" those left out), p after Holm. A row for each cell of the report, in its order.
[[nodiscard]] Table pairs_table(const GateReport& report, PairsAs as);

}  // namespace bertbench
