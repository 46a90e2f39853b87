// Slope plots of pairs: what two variants gave, trial by trial.
#pragma once

#include <cstddef>
#include <vector>

#include "reports/gate/verdicts.h"
#include "reports/model/result_set.h"
#include "reports/output/plot/figure.h"

namespace bertbench::plot {

/// A figure a cell: a line from the base to the variant for each pair, and the ratio of both with
/// its interval. The title has the verdict.
struct PairFigures {
  std::vector<Figure> figures;  ///< at most 40: those of the largest changes where there are more
  std::size_t cells = 0;        ///< with pairs
};
/// `report` is of pairs, and of `set`.
[[nodiscard]] PairFigures pair_figures(const GateReport& report, const ResultSet& set);

}  // namespace bertbench::plot
