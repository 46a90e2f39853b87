// The figures of a result set. Each is absent (or the list empty) where the set has not what it
// would show. They hold data only; see svg.h for how they are drawn.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/gate/comparison.h"
#include "reports/gate/verdicts.h"
#include "reports/model/result_set.h"
#include "reports/output/plot/figure.h"

namespace bertbench::plot {

/// Throughput and efficiency against GPUs: medians with intervals, trials as points, the ideal line
/// of each series from its smallest job. A series is the cells that differ in their GPUs only; two
/// numbers of GPUs make one. Its points are joined unless several cells are of one topology. Each
/// element holds as many series of one unit as there are colours: their throughput and, where it is
/// known, efficiency.
[[nodiscard]] std::vector<std::vector<Figure>> scaling_figures(const ResultSet& set);

/// Every trial against the median of its cell, in percent: outliers and drift are seen at once.
[[nodiscard]] std::optional<Figure> trials_figure(const ResultSet& set);

/// Each estimator of a log against all its work over all its time; against the estimator
/// used where the total is not known.
[[nodiscard]] std::optional<Figure> reconciliation_figure(const ResultSet& set);

/// The name of a row that shows one trial of a cell; that it is the first is not written.
[[nodiscard]] inline std::string row_name(const std::string& cell, const Trial& trial) {
  return trial.trial == 1 ? cell : cell + ", trial " + std::to_string(trial.trial);
}

/// Where the time of each cell's first trial with time stamps went, stretch by stretch.
[[nodiscard]] std::optional<Figure> timeline_figure(const ResultSet& set);

/// Throughput over iterations, a figure a cell, a line a trial, warm-up and measured window shaded.
/// Reads <run_folder>/<Trial::iterations_file>. `cells`: how many cells have such a file.
struct IterationFigures {
  std::vector<Figure> figures;
  std::size_t cells = 0;
};
[[nodiscard]] IterationFigures iteration_figures(const ResultSet& set,
                                                 const std::string& run_folder);

/// Change of each cell from A to B with its interval; the largest changes where there are many.
/// Cells are named as in the other plots of `set`, which is B.
[[nodiscard]] std::optional<Figure> comparison_figure(const std::vector<CellComparison>& cells,
                                                      const ResultSet& set);

// Slope plots of pairs: what two variants gave, trial by trial.

/// A figure a cell: a line from the base to the variant for each pair, and the ratio of both with
/// its interval. The title has the verdict.
struct PairFigures {
  std::vector<Figure> figures;  ///< at most 40: those of the largest changes where there are more
  std::size_t cells = 0;        ///< with pairs
};
/// `report` is of pairs, and of `set`.
[[nodiscard]] PairFigures pair_figures(const GateReport& report, const ResultSet& set);

}  // namespace bertbench::plot
