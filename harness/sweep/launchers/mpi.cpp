// mpi: one mpirun starts all ranks. This version prints the command; it does not run it.
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

  const auto slots = plan.workload.process_per_gpu ? topology.gpus_per_node : 1;
  std::string hosts;
  for (std::int64_t node = 0; node < topology.nodes; ++node) {
    hosts += fmt::format("{}{}:{}", node ? "," : "", host_of(plan, node), slots);
  }
  ProcessSpec one;
  one.argv = {"mpirun", "-np",      std::to_string(topology.nodes * slots), "--host",
              hosts,    "--map-by", fmt::format("ppr:{}:node", slots)};
  for (const auto& [name, value] : *env) {
    one.argv.insert(one.argv.end(), {"-x", name});
    one.set.emplace_back(name, value);
  }
  one.argv.push_back(plan.workload.program);
  one.argv.insert(one.argv.end(), args->begin(), args->end());
  return std::vector<ProcessSpec>{std::move(one)};
}

}  // namespace

extern const Launcher launcher_mpi;
const Launcher launcher_mpi{"mpi", "mpirun of Open MPI over the hosts", "mpirun", false, processes};

}  // namespace bertbench
