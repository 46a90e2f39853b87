#include "reports/assume.h"

#include <fmt/format.h>

#include <map>

#include "reports/stats/hardware.h"

namespace bertbench {
namespace {

bool checkpoints(const Cell& cell) {
  const auto axis = cell.identity.axes.find("activation_checkpointing");
  return axis != cell.identity.axes.end() && axis->second != "false" && axis->second != "0" &&
         axis->second != "off" && axis->second != "no";
}

void measure_against(Cell& cell, double tflops) {
  const Identity& id = cell.identity;
  // A model named by a log is never taken for a path.
  if (cell.kind != WorkKind::training || !cell.sequences_per_second_per_gpu || !id.model ||
      !id.sequence_length || id.model->find_first_of("/.") != std::string::npos) {
    return;
  }
  const auto shape = model_shape(*id.model);
  if (!shape) return;
  const Peak peak{"stated", id.precision.value_or("?"), tflops, "dense", "--peak"};
  const Utilization used = utilization(*shape, *id.sequence_length, checkpoints(cell),
                                       *cell.sequences_per_second_per_gpu, peak);
  cell.tflops_per_gpu = used.tflops_per_gpu;
  cell.mfu = used.mfu;
  cell.hfu = used.hfu;
  cell.flops_formula = used.formula;
  cell.peak = peak.str();
  std::erase_if(cell.warnings, [](const std::string& text) { return text.starts_with("MFU "); });
  cell.warnings.insert(cell.warnings.end(), used.warnings.begin(), used.warnings.end());
}

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

void assume(ResultSet& results, const Assumptions& what) {
  for (Cell& cell : results.cells) {
    if (what.peak_tflops) measure_against(cell, *what.peak_tflops);
    if (what.train_sequences && cell.kind == WorkKind::training && cell.throughput.median &&
        cell.throughput.unit == "sequences/s" && *cell.throughput.median > 0) {
      cell.time_to_train_s = *what.train_sequences / *cell.throughput.median;
    }
  }
  if (what.train_sequences) time_to_train_speedups(results);
}

}  // namespace bertbench
