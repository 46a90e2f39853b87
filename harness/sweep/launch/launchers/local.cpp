// local: every rank is a process of this machine, with the variables that torchrun would set. More
// than one node is emulated: ranks of one machine that are given different node numbers.
#include "harness/sweep/plan/trainer_call.h"

namespace bertbench::launcher_local {
namespace {

Result<std::vector<ProcessSpec>> processes(const Plan& plan, const PlannedTrial& trial,
                                           const LaunchPlace& place) {
  const auto call = trainer_call(plan, trial, place, plan.cells[trial.cell].topology.nodes, false);
  if (!call) return tl::unexpected(call.error());
  std::vector<ProcessSpec> all;
  for (std::int64_t process = 0; process < call->processes(); ++process) {
    ProcessSpec one;
    one.argv = call->words;
    one.set = call->env;
    one.terminal = plan.config.pty;
    for (auto& variable : place_variables(*call, process, "127.0.0.1")) {
      one.set.push_back(std::move(variable));
    }
    // A harness inside an allocation or an mpirun must not lend its own rank to the trainer.
    one.unset = foreign_place_names({"OMPI_*"});
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

extern const Launcher entry{
    .name = "local", .title = "ranks as processes of this machine", .processes = processes};

}  // namespace bertbench::launcher_local
