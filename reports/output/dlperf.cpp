#include "reports/output/dlperf.h"

#include <algorithm>
#include <cmath>

#include "parsers/core/text.h"
#include "parsers/core/trainer_options.h"
#include "reports/output/value_text.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

/// What distinguishes the cells of one model and topology, in a form that may join its name.
std::string variant(const Identity& id) {
  std::string text;
  if (id.framework) text += "_" + *id.framework;
  if (id.micro_batch_size) text += "_b" + std::to_string(*id.micro_batch_size);
  if (id.precision) text += "_" + *id.precision;
  if (id.sequence_length) text += "_s" + std::to_string(*id.sequence_length);
  if (id.gradient_accumulation_steps)
    text += "_a" + std::to_string(*id.gradient_accumulation_steps);
  for (const auto& [axis, value] : id.axes) {
    if (axis != kSimulatedAxis) text += "_" + axis + "=" + value;  // in the model's name
  }
  return text;
}

std::string short_variant(const Identity& id) {
  std::string text;
  if (id.micro_batch_size) text += "_b" + std::to_string(*id.micro_batch_size);
  if (id.precision) text += "_" + *id.precision;
  return text;
}

std::string model_of(const Cell& cell) {
  return cell.identity.model.value_or("?") + (cell.identity.simulated() ? "_simulated" : "");
}

bool usable(const Cell& cell) {
  const Identity& id = cell.identity;
  return cell.kind == WorkKind::training && id.nodes && id.gpus_per_node &&
         std::any_of(cell.trials.begin(), cell.trials.end(),
                     [](const Trial& trial) { return trial.counts(); });
}

}  // namespace

std::string python_number(double value) {
  std::string text = shortest(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

DlperfResult dlperf_result(const ResultSet& set) {
  // The shortest name that keeps all configurations of a model apart.
  std::map<std::string, std::map<std::string, std::string>> variants;
  for (const Cell& cell : set.cells)
    if (usable(cell))
      variants[model_of(cell)][variant(cell.identity)] = short_variant(cell.identity);
  const auto name_of = [&](const Cell& cell) {
    const auto& known = variants[model_of(cell)];
    if (known.size() == 1) return model_of(cell);
    std::map<std::string, int> shared;
    for (const auto& entry : known) ++shared[entry.second];
    const bool enough = std::all_of(shared.begin(), shared.end(),
                                    [](const auto& entry) { return entry.second == 1; });
    return model_of(cell) + (enough ? short_variant(cell.identity) : variant(cell.identity));
  };

  DlperfResult result;
  std::map<std::pair<std::string, std::string>, std::vector<double>> speeds;
  for (const Cell& cell : set.cells) {
    if (!usable(cell)) continue;
    const std::string model = name_of(cell), topology = topology_text(cell.identity);
    result.models[model][topology].batch_size_per_device = cell.identity.micro_batch_size;
    for (const Trial& trial : cell.trials) {
      if (!trial.counts()) continue;
      const double speed = round_dlperf(*trial.sequences_per_second);
      result.logs.push_back({model, topology, trial.log, trial.trial, speed});
      speeds[{model, topology}].push_back(speed);
    }
  }
  for (const auto& [where, values] : speeds) {
    DlperfCell& cell = result.models[where.first][where.second];
    // Left to right in file order, as sum() does: the order shows in the last digit.
    double sum = 0;
    for (const double value : values) sum += value;
    cell.average_speed = round_dlperf(sum / static_cast<double>(values.size()));
    cell.median_speed = round_dlperf(median(values));
  }
  for (auto& [model, cells] : result.models) {
    const auto base = cells.find("1n1g");
    if (base == cells.end() || !(base->second.median_speed > 0)) continue;
    const double base_median = base->second.median_speed;
    for (auto& [topology, cell] : cells)
      cell.speedup = round_dlperf(cell.median_speed / base_median);
  }
  return result;
}

}  // namespace bertbench
