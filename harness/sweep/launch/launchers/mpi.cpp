// mpi: one mpirun starts all ranks, of Open MPI or of MPICH, whose options differ.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>

#include "harness/sweep/config/hosts.h"
#include "harness/sweep/plan/template_call.h"
#include "harness/sweep/plan/trainer_call.h"
#include "harness/sweep/process/program.h"

namespace bertbench::launcher_mpi {
namespace {

/// Gives a rank torchrun's variables by what Open MPI or Hydra has set. $1: ranks of a node; then
/// the command.
constexpr const char* kPlace =
    "export RANK=\"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" "
    "WORLD_SIZE=\"${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE}\" LOCAL_WORLD_SIZE=\"$1\"; "
    "export LOCAL_RANK=$((RANK % $1)) GROUP_RANK=$((RANK / $1)); shift; exec \"$@\"";

/// Debian installs both side by side, each under a name of its own.
std::string program_of(const std::string& implementation) {
  std::vector<std::string> names{"mpirun"};
  if (implementation == "openmpi") names = {"mpirun.openmpi", "mpirun"};
  if (implementation == "mpich") names = {"mpirun.mpich", "mpiexec.hydra", "mpirun"};
  for (const auto& name : names) {
    if (!find_program(name).empty()) return name;
  }
  return "mpirun";
}

/// "openmpi", "mpich" (and what descends from it), or "" for one that this file does not know.
std::string implementation_of(const std::string& program) {
  static std::map<std::string, std::string> known;
  const auto path = find_program(program);
  if (path.empty()) return "openmpi";  // --dry-run where there is none: the usual one
  if (const auto it = known.find(path); it != known.end()) return it->second;
  const auto text = capture_output({path, "--version"}, std::chrono::seconds(10)).value_or("");
  std::string name;
  if (text.find("Open MPI") != std::string::npos || text.find("OpenRTE") != std::string::npos ||
      text.find("PRRTE") != std::string::npos) {
    name = "openmpi";
  } else if (text.find("HYDRA") != std::string::npos ||
             text.find("Intel(R) MPI") != std::string::npos) {
    name = "mpich";
  }
  return known[path] = name;
}

/// mpirun looks for words of its own after the program's name: ":" begins a second program, which
/// it would run, and "--mca" sets a parameter. As trainer arguments they cannot be passed at all.
Result<void> check_words(const std::vector<std::string>& words) {
  for (const auto& word : words) {
    const auto bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    const bool parameter = bare != word && (bare == "mca" || bare == "gmca" || bare == "omca" ||
                                            bare == "pmca" || bare == "prtemca");
    if (word == ":" || parameter) {
      return fail("launcher mpi",
                  fmt::format("mpirun would take the argument '{}' for its own", word),
                  "change it, or use another launcher");
    }
  }
  if (words.front().starts_with('-')) {
    return fail("launcher mpi", fmt::format("'{}' would be an option of mpirun", words.front()),
                "give the program's full path");
  }
  return {};
}

Result<std::vector<ProcessSpec>> processes(const Plan& plan, const PlannedTrial& trial,
                                           const LaunchPlace& place) {
  const auto& options = plan.config.mpi;
  const auto nodes = process_count(plan, plan.cells[trial.cell]).nodes;
  const auto shares = shares_of(plan.config.hosts, nodes);
  std::int64_t most = 1;  // nodes that one machine stands for
  for (const auto& share : shares) most = std::max(most, share.nodes);
  auto call = trainer_call(plan, trial, place, most, true);
  if (!call) return tl::unexpected(call.error());
  if (auto good = check_words(call->words); !good) return tl::unexpected(good.error());
  std::string hosts;
  for (const auto& share : shares) {
    hosts +=
        fmt::format("{}{}:{}", hosts.empty() ? "" : ",", share.host, share.nodes * call->per_node);
  }
  // For communicators that meet over TCP; MPI itself needs neither.
  const auto& first = shares.front().host;
  const auto master = master_of(*call, first == "localhost" ? "127.0.0.1" : first);
  call->env.emplace_back("MASTER_ADDR", master);
  call->env.emplace_back("MASTER_PORT", call->port);
  if (!call->per_rank && call->processes() > 1) {
    // torchrun on each node learns from mpirun neither which node it is nor who begins: they meet.
    call->env.emplace_back("PET_RDZV_BACKEND", "c10d");
    call->env.emplace_back("PET_RDZV_ID", "bertbench");
    call->env.emplace_back("PET_RDZV_ENDPOINT", fmt::format("{}:{}", master, call->port));
  }

  const auto program = program_of(options.implementation);
  const auto implementation =
      options.implementation == "auto" ? implementation_of(program) : options.implementation;
  ProcessSpec one;
  one.argv = {program};
  one.set = call->env;
  const auto add = [&one](std::initializer_list<std::string> words) {
    one.argv.insert(one.argv.end(), words);
  };
  const auto ranks = std::to_string(call->processes());
  if (implementation == "mpich") {
    // It passes on the whole environment by itself.
    add({"-n", ranks, "-hosts", hosts});
    if (options.bind_to != "none") add({"-bind-to", options.bind_to});
  } else {
    if (geteuid() == 0) add({"--allow-run-as-root"});
    add({"-np", ranks, "--host", hosts});
    // One machine has the slots it was given; several have equally many each or their shares.
    const bool even = std::all_of(shares.begin(), shares.end(),
                                  [&](const auto& share) { return share.nodes == most; });
    if (even) add({"--map-by", fmt::format("ppr:{}:node", most * call->per_node)});
    add({"--bind-to", options.bind_to});
    for (const auto& [name, value] : call->env) add({"-x", name});
    // From 32 ranks a machine on, Open MPI 4 forks in threads whose handlers race for the ends of
    // short ranks, and mpirun then waits for ever (openpmix/prrte issue 1839). First, so that a
    // variable of the config overrides it.
    one.set.insert(one.set.begin(), {"OMPI_MCA_odls_base_num_threads", "0"});
  }
  if (call->per_rank) {
    const std::string each = std::to_string(call->per_node);
    one.argv.insert(one.argv.end(), {"sh", "-c", kPlace, "bertbench", each});
  }
  one.argv.insert(one.argv.end(), call->words.begin(), call->words.end());
  // Who this process is in a job around it is nothing to the ranks of the trial.
  one.unset = foreign_place_names({"OMPI_COMM_*", "OMPI_MCA_orte_*", "OMPI_MCA_ess*"});
  return std::vector<ProcessSpec>{std::move(one)};
}

Result<void> check(const Plan& plan) {
  std::int64_t nodes = 0;
  for (const auto& cell : plan.cells) nodes = std::max(nodes, cell.topology.nodes);
  if (nodes > 1 || !plan.config.hosts.empty()) {
    if (auto good = check_enough_hosts(plan.config.hosts, nodes); !good) return good;
  }
  const auto& wanted = plan.config.mpi.implementation;
  const auto program = program_of(wanted);
  const auto found = implementation_of(program);
  if (found.empty() || (wanted != "auto" && wanted != found)) {
    return fail("launcher mpi",
                fmt::format("{} is {}", find_program(program),
                            found.empty() ? "neither Open MPI nor MPICH by its --version"
                                          : found + ", not " + wanted),
                "set mpi.implementation, or put another mpirun first on PATH");
  }
  return {};
}

/// Hydra of MPICH 4.0 can lose a rank's status when ranks end at the same moment: it dies of an
/// assertion ("!closed") or of SIGPIPE.
std::string name_exit(const ExitStatus& exit) {
  if (exit.code == 255 || exit.signal == SIGPIPE) {
    return "mpirun lost contact with its ranks; what the first of them ended with is not known";
  }
  return {};
}

}  // namespace

extern const Launcher entry{.name = "mpi",
                            .title = "mpirun of Open MPI or MPICH over the hosts",
                            .hosts = RankHosts::configured,
                            .program = "mpirun",
                            .processes = processes,
                            .check = check,
                            .name_exit = name_exit,
                            .version_name = "mpi"};

}  // namespace bertbench::launcher_mpi
