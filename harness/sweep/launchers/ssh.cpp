// ssh: one ssh a rank, hosts in turn. This version prints the commands; it does not run them.
#include <fmt/format.h>

#include "harness/sweep/launcher.h"

namespace bertbench {
namespace {

Result<std::vector<ProcessSpec>> processes(const Plan& plan, const PlannedTrial& trial,
                                           const LaunchPlace& place) {
  const auto& topology = plan.cells[trial.cell].topology;
  const auto world = topology.world_size();
  auto args = trainer_args(plan, trial, place, static_cast<int>(topology.gpus_per_node));
  if (!args) return tl::unexpected(args.error());
  auto env = trainer_env(plan, trial, place);
  if (!env) return tl::unexpected(env.error());

  const bool per_gpu = plan.workload.process_per_gpu;
  const auto per_node = per_gpu ? topology.gpus_per_node : 1;
  const std::string port = place.master_port ? std::to_string(place.master_port) : "<port>";
  const std::int64_t ranks = plan.workload.single_process ? 1 : topology.nodes * per_node;
  std::vector<ProcessSpec> all;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    // ssh hands one text to a shell over there, so every word is quoted for it.
    std::string remote = "exec env";
    const auto set = [&remote](const std::string& name, const std::string& value) {
      remote += " " + shell_quote(name + "=" + value);
    };
    for (const auto& [name, value] : *env) set(name, value);
    if (per_gpu) {
      set("RANK", std::to_string(rank));
      set("LOCAL_RANK", std::to_string(rank % per_node));
      set("WORLD_SIZE", std::to_string(world));
      set("LOCAL_WORLD_SIZE", std::to_string(per_node));
    } else {
      set("NODE_RANK", std::to_string(rank));
      set("PET_NODE_RANK", std::to_string(rank));  // what torchrun reads
    }
    set("MASTER_ADDR", host_of(plan, 0));
    set("MASTER_PORT", port);
    remote += " " + shell_quote(plan.workload.program);
    for (const auto& arg : *args) remote += " " + shell_quote(arg);
    ProcessSpec one;
    one.argv = {"ssh", "-o", "BatchMode=yes", "--", host_of(plan, rank / per_node), remote};
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

extern const Launcher launcher_ssh;
const Launcher launcher_ssh{"ssh", "ranks over ssh, hosts in turn", "ssh", false, processes};

}  // namespace bertbench
