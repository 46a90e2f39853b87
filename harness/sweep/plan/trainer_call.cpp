#include "harness/sweep/plan/trainer_call.h"

#include <algorithm>

#include "harness/sweep/plan/template_call.h"
#include "harness/sweep/process/program.h"

namespace bertbench {

Result<TrainerCall> trainer_call(const Plan& plan, const PlannedTrial& trial,
                                 const LaunchPlace& place, std::int64_t nodes_per_machine,
                                 bool full_path) {
  const auto& topology = plan.cells[trial.cell].topology;
  auto words = trainer_words(plan, trial, place,
                             static_cast<int>(nodes_per_machine * topology.gpus_per_node));
  if (!words) return tl::unexpected(words.error());
  auto env = trainer_env(plan, trial, place);
  if (!env) return tl::unexpected(env.error());
  TrainerCall call;
  call.words = std::move(*words);
  // Other machines may have another PATH; where this one lacks the program, its name must do.
  if (const auto path = full_path ? find_program(call.words.front()) : ""; !path.empty()) {
    call.words.front() = path;
  }
  call.env = std::move(*env);
  const auto& cell = plan.cells[trial.cell];
  const auto count = process_count(plan, cell);
  call.per_rank = way_of(plan, cell).each == Each::gpu;
  call.nodes = count.nodes;
  call.per_node = count.per_node;
  call.port = place.master_port ? std::to_string(place.master_port) : "<port>";
  return call;
}

std::string master_of(const TrainerCall& call, const std::string& own) {
  const auto given = std::ranges::find(call.env, "MASTER_ADDR", &Variables::value_type::first);
  return given == call.env.end() ? own : given->second;
}

Variables place_variables(const TrainerCall& call, std::int64_t process,
                          const std::string& master) {
  const auto node = process / call.per_node;
  Variables out;
  if (call.per_rank) {
    out = {{"RANK", std::to_string(process)},
           {"LOCAL_RANK", std::to_string(process % call.per_node)},
           {"WORLD_SIZE", std::to_string(call.processes())},
           {"LOCAL_WORLD_SIZE", std::to_string(call.per_node)},
           {"GROUP_RANK", std::to_string(node)}};
  } else {
    out = {{"NODE_RANK", std::to_string(node)},
           // What torchrun reads in place of its options.
           {"PET_NODE_RANK", std::to_string(node)},
           {"PET_MASTER_ADDR", master},
           {"PET_MASTER_PORT", call.port}};
  }
  out.emplace_back("MASTER_ADDR", master);
  out.emplace_back("MASTER_PORT", call.port);
  return out;
}

std::vector<std::string> foreign_place_names(std::vector<std::string> further) {
  std::vector<std::string> names{"RANK",       "LOCAL_RANK",  "WORLD_SIZE",  "LOCAL_WORLD_SIZE",
                                 "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_*",
                                 "SLURM_*",    "PMI_*",       "PMIX_*"};
  names.insert(names.end(), further.begin(), further.end());
  return names;
}

}  // namespace bertbench
