// slurm: one srun starts all ranks in the allocation. This version prints the command only.
#include <fmt/format.h>

#include "harness/sweep/launcher.h"

namespace bertbench {
namespace {

Result<std::vector<ProcessSpec>> processes(const Plan& plan, const PlannedTrial& trial,
                                           const LaunchPlace& place) {
  const auto& topology = plan.cells[trial.cell].topology;
  auto args = trainer_args(plan, trial, place, static_cast<int>(topology.gpus_per_node));
  if (!args) return tl::unexpected(args.error());
  auto env = trainer_env(plan, trial, place);
  if (!env) return tl::unexpected(env.error());

  const auto tasks = plan.workload.process_per_gpu ? topology.gpus_per_node : 1;
  ProcessSpec one;
  one.argv = {"srun", fmt::format("--nodes={}", topology.nodes),
              fmt::format("--ntasks-per-node={}", tasks), "--kill-on-bad-exit=1", "--export=ALL"};
  if (!plan.config.hosts.empty()) {
    std::string hosts;
    for (std::int64_t node = 0; node < topology.nodes; ++node) {
      hosts += (node ? "," : "") + host_of(plan, node);
    }
    one.argv.push_back("--nodelist=" + hosts);
  }
  one.set = *env;
  one.argv.push_back(plan.workload.program);
  one.argv.insert(one.argv.end(), args->begin(), args->end());
  return std::vector<ProcessSpec>{std::move(one)};
}

}  // namespace

extern const Launcher launcher_slurm;
const Launcher launcher_slurm{"slurm", "srun in a Slurm allocation", "srun", false, processes};

}  // namespace bertbench
