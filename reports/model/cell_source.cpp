#include "reports/model/cell_source.h"

#include <utility>

namespace bertbench {
namespace {

// Copies of single members: a cell's trials may be many.
Cell without_trials(const Cell& cell) {
  Cell out;
  out.key = cell.key;
  out.identity = cell.identity;
  out.kind = cell.kind;
  out.throughput = cell.throughput;
  out.stability = cell.stability;
  out.sequences_per_second_per_gpu = cell.sequences_per_second_per_gpu;
  out.speedup = cell.speedup;
  out.scaling_efficiency = cell.scaling_efficiency;
  out.scaling = cell.scaling;
  out.precision_speedup = cell.precision_speedup;
  out.time_to_train_s = cell.time_to_train_s;
  out.time_to_train_speedup = cell.time_to_train_speedup;
  out.power_w = cell.power_w;
  out.energy_per_sequence_j = cell.energy_per_sequence_j;
  out.memory = cell.memory;
  out.flops = cell.flops;
  out.tflops_per_gpu = cell.tflops_per_gpu;
  out.mfu = cell.mfu;
  out.hfu = cell.hfu;
  out.flops_formula = cell.flops_formula;
  out.peak = cell.peak;
  out.stated_world_size = cell.stated_world_size;
  out.stated_global_batch_size = cell.stated_global_batch_size;
  out.gpu = cell.gpu;
  out.emulated = cell.emulated;
  out.warnings = cell.warnings;
  out.context = cell.context;
  return out;
}

ResultSet without_cells(const ResultSet& set) {
  return {set.tool_version, set.tool_commit, set.created, set.environment, {}, set.partial};
}

}  // namespace

Cell CellSource::whole_cell(std::size_t i) const {
  Cell out = cell(i);
  out.trials.reserve(trials(i));
  each_trial(i, [&](const Trial& trial) { out.trials.push_back(trial); });
  return out;
}

ResultSet CellSource::whole() const {
  ResultSet out = head();
  out.cells.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) out.cells.push_back(whole_cell(i));
  return out;
}

SetSource::SetSource(const ResultSet& set) : set_(set), head_(without_cells(set)) {}

Cell SetSource::cell(std::size_t i) const { return without_trials(set_.cells[i]); }

void SetSource::each_trial(std::size_t i, const std::function<void(const Trial&)>& see) const {
  for (const Trial& trial : set_.cells[i].trials) see(trial);
}

}  // namespace bertbench
