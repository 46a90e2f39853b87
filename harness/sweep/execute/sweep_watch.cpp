// SweepRun: what is watched beside the log, and when a cell has been measured often enough.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

#include "harness/sweep/config/hosts.h"
#include "harness/sweep/execute/adaptive.h"
#include "harness/sweep/execute/sweep_run.h"
#include "harness/sweep/observe/machine.h"
#include "harness/sweep/observe/node_telemetry.h"
#include "harness/sweep/plan/template_call.h"

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

void SweepRun::take_telemetry_of_nodes(OpenAttempt& open) {
  if (!launcher_.watches_nodes || sampler_program().empty()) return;
  const auto& cell = plan_.cells[open.trial.cell];
  std::vector<std::int64_t> nodes;
  if (launcher_.samplers) {
    for (const auto& one : launcher_.samplers(plan_, open.trial, open.place)) {
      nodes.push_back(one.node);
    }
  } else {
    nodes.resize(static_cast<std::size_t>(process_count(plan_, cell).nodes));
    std::iota(nodes.begin(), nodes.end(), 0);
  }
  open.telemetry = take_node_telemetry(open.folder, nodes);
  for (const auto& node : open.telemetry.value("nodes", nlohmann::ordered_json::array())) {
    const auto why = node.value("missing", "");
    if (why.empty() || !missing_told_.insert(why).second) continue;
    observer_.notice(fmt::format("{} trial {}: no telemetry of node {}: {}", cell.key,
                                 open.trial.trial, node.value("node", 0), why));
  }
}

std::unique_ptr<Telemetry> SweepRun::telemetry_of(const PlannedTrial& trial) const {
  const auto& hosts = plan_.config.hosts;
  const bool here = launcher_.name == "local" ||
                    (launcher_.name == "mpi" && std::ranges::all_of(hosts, is_loopback));
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
