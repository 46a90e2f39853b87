// SweepRun: what is watched beside the log, and when a cell has been measured often enough.
#include <cstdlib>

#include "harness/sweep/adaptive.h"
#include "harness/sweep/machine.h"
#include "harness/sweep/sweep_run.h"

namespace bertbench {

bool SweepRun::settled(std::size_t cell) const {
  const auto& config = plan_.config;
  if (!config.auto_trials) return false;
  std::vector<double> rates;
  int launches = 0;
  bool hopeless = false;
  for (auto it = kept_.lower_bound({cell, 0}); it != kept_.end() && it->first.first == cell; ++it) {
    const Trial& trial = it->second.measured.trial;
    ++launches;
    if (trial.counts()) rates.push_back(*trial.sequences_per_second);
    hopeless = hopeless || trial.outcome.status == Status::out_of_memory ||
               trial.outcome.status == Status::nan;
  }
  return enough_trials(rates, launches, hopeless,
                       {config.trials_min, config.trials, config.trials_interval});
}

std::unique_ptr<Telemetry> SweepRun::telemetry_of(const PlannedTrial& trial) const {
  const bool here =
      launcher_.name == "local" || (launcher_.name == "mpi" && plan_.config.hosts.empty());
  if (!here) return nullptr;
  const PlannedCell& cell = plan_.cells[trial.cell];
  TelemetryOptions options;
  options.cores = plan_.cores;
  options.memory_bytes = memory_bytes_;
  if (nvml_ && !cell.cpu_stands_in) {
    options.nvml = nvml_.get();
    const auto named = plan_.config.env.find("CUDA_VISIBLE_DEVICES");
    const char* inherited = std::getenv("CUDA_VISIBLE_DEVICES");
    std::string visible = inherited != nullptr ? inherited : "";
    if (named != plan_.config.env.end()) visible = named->second;
    // Emulated nodes share this machine's GPUs.
    options.gpus = gpus_in_use(*nvml_, cell.topology.gpus_per_node * cell.topology.nodes, visible);
  }
  return std::make_unique<Telemetry>(std::move(options));
}

}  // namespace bertbench
