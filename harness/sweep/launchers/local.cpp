// local: every rank is a process of this machine, with the variables that torchrun would set. More
// than one node is emulated: ranks of one machine that are told different node numbers.
#include <fmt/format.h>

#include "harness/sweep/launcher.h"

namespace bertbench {
namespace {

Result<std::vector<ProcessSpec>> processes(const Plan& plan, const PlannedTrial& trial,
                                           const LaunchPlace& place) {
  const auto& topology = plan.cells[trial.cell].topology;
  const auto world = topology.world_size();
  const auto per_node = topology.gpus_per_node;
  auto args = trainer_args(plan, trial, place, static_cast<int>(world));
  if (!args) return tl::unexpected(args.error());
  auto env = trainer_env(plan, trial, place);
  if (!env) return tl::unexpected(env.error());

  ProcessSpec base;
  base.argv.push_back(plan.workload.program);
  base.argv.insert(base.argv.end(), args->begin(), args->end());
  base.set = *env;
  // A harness inside an allocation or an mpirun must not lend its own rank to the trainer.
  base.unset = {"RANK",       "LOCAL_RANK",  "WORLD_SIZE",  "LOCAL_WORLD_SIZE",
                "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_*",
                "SLURM_*",    "PMI_*",       "PMIX_*",      "OMPI_*"};
  const bool per_gpu = plan.workload.process_per_gpu;
  const std::string port = place.master_port ? std::to_string(place.master_port) : "<port>";
  const std::int64_t ranks = plan.workload.single_process ? 1 : per_gpu ? world : topology.nodes;
  std::vector<ProcessSpec> all;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    ProcessSpec one = base;
    const auto set = [&one](const char* name, const std::string& value) {
      one.set.emplace_back(name, value);
    };
    if (per_gpu) {
      set("RANK", std::to_string(rank));
      set("LOCAL_RANK", std::to_string(rank % per_node));
      set("WORLD_SIZE", std::to_string(world));
      set("LOCAL_WORLD_SIZE", std::to_string(per_node));
      set("GROUP_RANK", std::to_string(rank / per_node));
    } else {
      set("NODE_RANK", std::to_string(rank));
      set("PET_NODE_RANK", std::to_string(rank));  // what torchrun reads
    }
    set("MASTER_ADDR", "127.0.0.1");
    set("MASTER_PORT", port);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

extern const Launcher launcher_local;
const Launcher launcher_local{"local", "ranks as processes of this machine", "", true, processes};

}  // namespace bertbench
