#include "reports/cells/cell_flops.h"

#include <string>

#include "reports/stats/hardware.h"

namespace bertbench {

std::optional<ModelShape> shape_of(const Identity& identity) {
  if (!identity.model || identity.model->find_first_of("/.") != std::string::npos) {
    return std::nullopt;
  }
  const auto shape = model_shape(*identity.model);
  return shape ? std::optional(*shape) : std::nullopt;
}

namespace {

std::optional<Peak> peak_for(const Cell& cell, std::optional<double> stated) {
  const auto& precision = cell.identity.precision;
  if (stated) return Peak{"stated", precision.value_or("?"), *stated, "dense", "--peak"};
  if (auto own = peak_from_text(cell.peak)) return own;
  if (!precision) return std::nullopt;
  return peak_of(cell.gpu, *precision);
}

}  // namespace

bool recomputes_activations(const Identity& identity) {
  for (const char* axis :
       {"activation_checkpointing", "gradient_checkpointing", "checkpoint_activations"}) {
    const auto it = identity.axes.find(axis);
    if (it == identity.axes.end()) continue;
    const std::string& value = it->second;
    return value != "false" && value != "False" && value != "0" && value != "off" && value != "no";
  }
  return false;
}

void count_flops(Cell& cell, std::string_view formula, std::optional<double> peak_tflops) {
  const std::string chosen = formula.empty() ? cell.flops_formula : std::string(formula);
  const auto peak = peak_for(cell, peak_tflops);
  cell.flops.clear();
  cell.tflops_per_gpu = cell.mfu = cell.hfu = std::nullopt;
  cell.flops_formula.clear();
  cell.peak.clear();
  std::erase_if(cell.warnings,
                [](const Notice& warning) { return warning.code == NoticeCode::mfu_above_one; });

  const Identity& id = cell.identity;
  const auto rate = cell.sequences_per_second_per_gpu;
  const auto shape = shape_of(id);
  if (cell.kind != WorkKind::training || !rate || !id.sequence_length || !shape) return;
  // The formulas are those of full sequences, and how long these were is in no result.
  if (id.axes.contains("lengths")) return;
  const Utilization used =
      utilization(*shape, *id.sequence_length, recomputes_activations(id), *rate, peak, chosen);
  for (const auto& [key, use] : used.by_formula) {
    cell.flops[key] = {use.tflops_per_gpu, use.mfu, use.hfu};
  }
  cell.tflops_per_gpu = used.chosen.tflops_per_gpu;
  cell.mfu = used.chosen.mfu;
  cell.hfu = used.chosen.hfu;
  cell.flops_formula = used.formula;
  if (used.peak) cell.peak = used.peak->str();
  cell.warnings.insert(cell.warnings.end(), used.warnings.begin(), used.warnings.end());
}

}  // namespace bertbench
