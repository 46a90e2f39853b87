// slurm: one srun starts all ranks of a trial: in the allocation around the harness, or else in a
// job that sbatch hands in (slurm_jobs.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "harness/sweep/launch/slurm_jobs.h"
#include "harness/sweep/observe/node_telemetry.h"
#include "harness/sweep/plan/trainer_call.h"
#include "harness/sweep/process/program.h"
#include "harness/sweep/process/rank_supervisor.h"
#include "parsers/core/text.h"

namespace bertbench::launcher_slurm {
namespace {

// From Slurm's variables to torchrun's, then the supervisor of a rank. $1 processes of a node, $2
// port, $3 "rank" or "node", $4 marker, $5 how many words call the sampler of a node (0: none), $6
// folder of the attempt; then those words, then the command. A node's name that does not resolve
// has an address in Slurm's own records.
constexpr std::string_view kPlace = R"sh(
per_node=$1 port=$2 kind=$3 marker=$4 words=$5 folder=$6; shift 6
sampler=
if [ "$words" -gt 0 ] && [ "$SLURM_LOCALID" = 0 ]; then
  file=$folder/telemetry.$SLURM_NODEID.json
  rm -f "$file"
  (
    given=$# i=0
    for word do i=$((i + 1)); [ "$i" -gt "$words" ] || set -- "$@" "$word"; done
    shift "$given"
    # Of a job that sbatch took: no harness watches its log grow.
    [ "$SLURM_NODEID" != 0 ] || [ ! -e "$folder/job" ] || set -- "$@" --stamp-log "$folder/log.txt"
    set -C            # never through a link
    exec 2>/dev/null  # a folder that is not on this node is no line of the trial's log
    exec sh -c "$@" </dev/null >"$file" 2>&1
  ) & sampler=$!
fi
shift "$words"
if [ "$kind" = rank ]; then
  export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID" WORLD_SIZE="$SLURM_STEP_NUM_TASKS"
  export LOCAL_WORLD_SIZE="$per_node" GROUP_RANK="$SLURM_NODEID"
else
  export NODE_RANK="$SLURM_NODEID" PET_NODE_RANK="$SLURM_NODEID"
fi
# The cell's own MASTER_ADDR wins; that of a job around the harness was taken away.
# "gpu[03-05,07],x1" begins with gpu03. No scontrol: an image of a container has none.
first=${MASTER_ADDR:-$(printf %s "$SLURM_STEP_NODELIST" | sed 's/\[\([0-9]*\)[^]]*\]/\1/g; s/,.*//')}
if ! getent hosts "$first" >/dev/null 2>&1; then
  address=$(scontrol show node "$first" --oneliner </dev/null 2>/dev/null |
    sed -n 's/.* NodeAddr=\([^ ]*\) .*/\1/p')
  first=${address:-$first}
fi
export MASTER_ADDR="$first" MASTER_PORT="$port"
[ "$kind" = rank ] || export PET_MASTER_ADDR="$first" PET_MASTER_PORT="$port"
# Not exported here: the supervisor ends whatever carries the mark of its rank.
if [ -n "$marker" ]; then
  marker="$marker#$SLURM_PROCID"
  set -- "$marker" 1 "BERTBENCH_TRIAL=$marker" "$@"
else
  set -- "" 0 "$@"
fi
)sh";

/// The words that call the sampler of a node; none where a trial is only planned.
std::vector<std::string> sampler_words(const Plan& plan, const PlannedTrial& trial,
                                       const LaunchPlace& place) {
  const auto program = place.marker.empty() ? "" : sampler_program();
  if (program.empty()) return {};
  const auto& cell = plan.cells[trial.cell];
  std::vector<std::string> words{std::string(sampler_script()), "bertbench", program};
  for (auto& word :
       sampler_arguments(place.marker, cell.cpu_stands_in ? 0 : cell.topology.gpus_per_node,
                         place.directory + "/" + kTrainingMark)) {
    words.push_back(std::move(word));
  }
  return words;
}

/// The folder of the attempt, and those of the trials in which a phase leaves its checkpoint and
/// finds that of the phase before it: the checkpoint's own folder is not there before it is
/// written.
std::vector<std::string> folders_of(const Plan& plan, const PlannedTrial& trial,
                                    const LaunchPlace& place) {
  std::vector<std::string> out{place.directory};
  const auto add = [&](std::size_t cell) {
    const std::filesystem::path checkpoint = phase_checkpoint(plan, cell, trial.trial, place);
    const std::string folder = checkpoint.parent_path().string();
    if (folder != place.directory) out.push_back(folder);
  };
  const auto& cell = plan.cells[trial.cell];
  if (cell.has_later_phase()) add(trial.cell);
  if (cell.phase > 1) add(trial.cell - 1);
  return out;
}

/// The options of pyxis. The folders of the trial are there under their own paths; variables of the
/// cell win over those of the image.
Result<std::vector<std::string>> container_options(const Plan& plan, const PlannedTrial& trial,
                                                   const LaunchPlace& place,
                                                   const TrainerCall& call) {
  const auto& container = plan.config.slurm.container;
  std::vector<std::string> out;
  if (container.image.empty()) return out;
  auto mounts = container.mounts;
  for (const auto& folder : folders_of(plan, trial, place)) {
    if (folder.find_first_of(",:") != std::string::npos) {
      return fail(folder, "pyxis mounts no path that holds a comma or a colon",
                  "choose another --out");
    }
    mounts.push_back(folder + ":" + folder);
  }
  out.push_back("--container-image=" + container.image);
  out.push_back(fmt::format("--container-mounts={}", fmt::join(mounts, ",")));
  if (!container.workdir.empty()) out.push_back("--container-workdir=" + container.workdir);
  std::vector<std::string> names;
  for (const auto& [name, value] : call.env) names.push_back(name);
  if (!names.empty()) out.push_back(fmt::format("--container-env={}", fmt::join(names, ",")));
  return out;
}

Result<std::vector<ProcessSpec>> processes(const Plan& plan, const PlannedTrial& trial,
                                           const LaunchPlace& place) {
  const auto& options = plan.config.slurm;
  const auto call = trainer_call(plan, trial, place, 1, true);
  if (!call) return tl::unexpected(call.error());
  ProcessSpec one;
  one.argv = {"srun",
              fmt::format("--nodes={}", call->nodes),
              fmt::format("--ntasks={}", call->processes()),
              fmt::format("--ntasks-per-node={}", call->per_node),
              "--kill-on-bad-exit=1",
              "--input=all",
              "--export=ALL",
              "--mpi=" + options.mpi,
              "--job-name=" + slurm_name(place.marker, "")};
  if (options.cpus_per_task > 0) {
    one.argv.push_back(fmt::format("--cpus-per-task={}", options.cpus_per_task));
  }
  one.argv.insert(one.argv.end(), options.args.begin(), options.args.end());
  const auto container = container_options(plan, trial, place, *call);
  if (!container) return tl::unexpected(container.error());
  one.argv.insert(one.argv.end(), container->begin(), container->end());
  one.argv.insert(one.argv.end(), {"sh", "-c", std::string(kPlace) + std::string(rank_supervisor()),
                                   "bertbench", std::to_string(call->per_node), call->port,
                                   call->per_rank ? "rank" : "node", place.marker});
  const auto watch = sampler_words(plan, trial, place);
  one.argv.push_back(std::to_string(watch.size()));
  one.argv.push_back(place.directory);
  one.argv.insert(one.argv.end(), watch.begin(), watch.end());
  one.argv.insert(one.argv.end(), call->words.begin(), call->words.end());
  one.set = call->env;
  one.unset = {"RANK",       "LOCAL_RANK",  "WORLD_SIZE",  "LOCAL_WORLD_SIZE",
               "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_*",
               "PMI_*",      "PMIX_*",      "OMPI_COMM_*"};
  // srun ends its ranks at once when it gets SIGTERM; the end of stdin lets them end themselves.
  one.hold_stdin = true;
  return std::vector<ProcessSpec>{std::move(one)};
}

std::int64_t allocated_nodes() {
  const char* nodes = std::getenv("SLURM_JOB_NUM_NODES");
  return to_int(nodes ? nodes : "").value_or(0);
}

void avoid(SweepConfig& config, const std::vector<std::string>& nodes) {
  auto& args = config.slurm.args;
  const auto excluded =
      std::ranges::find_if(args, [](const auto& arg) { return arg.starts_with("--exclude="); });
  if (excluded == args.end()) {
    args.push_back(fmt::format("--exclude={}", fmt::join(nodes, ",")));
  } else {
    *excluded += fmt::format(",{}", fmt::join(nodes, ","));
  }
}

std::int64_t cpus_per_rank(const SweepConfig& config) { return config.slurm.cpus_per_task; }

std::string image(const SweepConfig& config) { return config.slurm.container.image; }

Result<void> check(const Plan& plan) {
  // sbatch and srun read these as options: the log would lie elsewhere, or the trial run twice at
  // once.
  for (const char* name : {"SBATCH_ARRAY_INX", "SLURM_STDOUTMODE", "SLURM_STDERRMODE",
                           "SLURM_STDINMODE", "SLURM_WORKING_DIR", "SLURM_REMOTE_CWD"}) {
    if (std::getenv(name) == nullptr) continue;
    return fail(
        "launcher slurm",
        fmt::format("the environment has {}, which sbatch and srun read as an option", name),
        fmt::format("unset {}", name));
  }
  if (!slurm_batch.wanted()) {
    const auto there = allocated_nodes();
    for (const auto& trial : plan.trials) {
      const auto wanted = plan.cells[trial.cell].topology.nodes;
      if (there > 0 && wanted > there) {
        return fail("launcher slurm",
                    fmt::format("the allocation has {} nodes, the grid cells of {}", there, wanted),
                    "ask for more (salloc -N), leave cells out with --only, or start outside an "
                    "allocation: then each job asks for its own nodes");
      }
    }
    return {};
  }
  if (find_program("sbatch").empty() || find_program("squeue").empty()) {
    return fail("launcher slurm", "sbatch or squeue is not on PATH",
                "run it where jobs are handed in, or inside an allocation (salloc)");
  }
  return {};
}

}  // namespace

extern const Launcher entry{.name = "slurm",
                            .title = "srun in an allocation, else jobs by sbatch",
                            .hosts = RankHosts::allotted,
                            .program = "srun",
                            .processes = processes,
                            .check = check,
                            .batch = &slurm_batch,
                            .end_leftovers = end_slurm_steps,
                            .nodes = read_slurm_nodes,
                            .allocated_nodes = allocated_nodes,
                            .avoid = avoid,
                            .cpus_per_rank = cpus_per_rank,
                            .image = image,
                            .watches_nodes = true};

}  // namespace bertbench::launcher_slurm
