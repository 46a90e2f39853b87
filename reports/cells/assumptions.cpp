#include "reports/cells/assumptions.h"

#include <map>

#include "reports/cells/cell_flops.h"

namespace bertbench {
namespace {

/// Against the base of the cell's throughput, so that both ratios speak of the same pair.
void time_to_train_speedups(ResultSet& results) {
  std::map<std::string_view, double> times;
  for (const Cell& cell : results.cells) {
    if (cell.time_to_train_s) times.emplace(cell.key, *cell.time_to_train_s);
  }
  for (Cell& cell : results.cells) {
    if (!cell.time_to_train_s || !cell.speedup) continue;
    const auto base = times.find(cell.speedup->base);
    if (base == times.end()) continue;
    cell.time_to_train_speedup = Ratio{base->second / *cell.time_to_train_s, cell.speedup->base};
  }
}

}  // namespace

void apply_assumptions(ResultSet& results, const Assumptions& what) {
  for (Cell& cell : results.cells) {
    if (what.peak_tflops || !what.flops_formula.empty()) {
      count_flops(cell, what.flops_formula, what.peak_tflops);
    }
    if (what.train_sequences && cell.kind == WorkKind::training && cell.throughput.median &&
        cell.throughput.unit == "sequences/s" && *cell.throughput.median > 0) {
      cell.time_to_train_s = *what.train_sequences / *cell.throughput.median;
    }
  }
  if (what.train_sequences) time_to_train_speedups(results);
}

}  // namespace bertbench
