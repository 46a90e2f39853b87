// The table and the sentence of a comparison, for `compare` and for reports with a baseline.
#pragma once

#include <string>
#include <vector>

#include "reports/gate/comparison.h"
#include "reports/output/table.h"

namespace bertbench {

enum class Remarks { last_column, left_out };

/// cell, kind (where one is no training), A, B, change, interval, n, p, after Holm, peak memory of
/// both (where one is known), remarks; "~" where a change is not significant.
[[nodiscard]] Table comparison_table(const std::vector<CellComparison>& cells,
                                     Remarks remarks = Remarks::last_column);

/// What the logs state of one GPU: cell, unit, A, B, change of the medians (without a test of its
/// significance). Without rows where no log states any.
[[nodiscard]] Table stated_comparison_table(const std::vector<CellComparison>& cells);

struct ComparisonSummary {
  int compared = 0, faster = 0, slower = 0, undecided = 0;
  int only_a = 0, only_b = 0;
  double geometric_mean_change = 0;  ///< of the cells compared
  std::string sentence;              ///< the above in words
};
[[nodiscard]] ComparisonSummary summary_of(const std::vector<CellComparison>& cells);

}  // namespace bertbench
