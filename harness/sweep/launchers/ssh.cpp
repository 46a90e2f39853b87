// ssh: one ssh a rank, host i for node i. Over there a small script of POSIX sh starts the rank in
// a session of its own, ends it when the connection ends, however that comes, and gives its status.
#include <fmt/format.h>

#include <algorithm>

#include "harness/sweep/hosts.h"
#include "harness/sweep/launcher.h"

namespace bertbench {
namespace {

// $1: what the rank's environment holds as BERTBENCH_TRIAL; $2: how many NAME=VALUE follow; then
// the command. Descriptor 3 is the connection: its end is the order to stop. `end` kills what
// carries the marker, so that children which left the session go as well. No text of a config is
// part of this script; all of it comes as arguments.
constexpr std::string_view kSupervisor = R"sh(
marker=$1 count=$2; shift 2
end() {
  kill -KILL "-$1" 2>/dev/null
  grep -lszxF -e "BERTBENCH_TRIAL=$marker" /proc/[0-9]*/environ 2>/dev/null |
    while IFS=/ read -r _ _ pid _; do kill -KILL "$pid" 2>/dev/null; done
}
exec 3<&0 </dev/null
(
  exec 3<&-
  while [ "$count" -gt 0 ]; do export "$1"; shift; count=$((count - 1)); done
  exec setsid -- "$@"
) & job=$!
(
  exec >/dev/null 2>&1
  cat <&3
  kill -TERM "-$job"; kill -CONT "-$job"
  left=50
  while [ "$left" -gt 0 ] && kill -0 "-$job"; do sleep 0.1; left=$((left - 1)); done
  end "$job"
) & watch=$!
exec 3<&-
trap 'kill -TERM "-$job" 2>/dev/null' HUP INT TERM
while :; do
  wait "$job"; status=$?
  kill -0 "$job" 2>/dev/null || break
done
trap '' HUP INT TERM
end "$job"
kill "$watch" 2>/dev/null
exit "$status"
)sh";

/// One word for any POSIX shell. Not shell_quote(), whose $'...' is not known to all of them.
std::string word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

/// The name under which other hosts find it.
std::string address_of(const std::string& host) {
  return is_loopback(host) ? "127.0.0.1" : host.substr(host.rfind('@') + 1);
}

Result<std::vector<ProcessSpec>> processes(const Plan& plan, const PlannedTrial& trial,
                                           const LaunchPlace& place) {
  const auto& topology = plan.cells[trial.cell].topology;
  const auto& options = plan.config.ssh;
  const auto world = topology.world_size();
  std::int64_t most = 1;  // nodes that one machine stands for
  for (const auto& share : shares_of(plan.config.hosts, topology.nodes)) {
    most = std::max(most, share.nodes);
  }
  auto args = trainer_args(plan, trial, place, static_cast<int>(most * topology.gpus_per_node));
  if (!args) return tl::unexpected(args.error());
  auto env = trainer_env(plan, trial, place);
  if (!env) return tl::unexpected(env.error());

  ProcessSpec base;
  base.hold_stdin = true;
  base.argv = {"ssh", "-T", "-x", "-a"};
  for (const char* option : {"BatchMode=yes", "ConnectTimeout=30", "ServerAliveInterval=15",
                             "ServerAliveCountMax=4", "ControlMaster=no", "ControlPath=none"}) {
    base.argv.insert(base.argv.end(), {"-o", option});
  }
  if (!options.config_file.empty()) base.argv.insert(base.argv.end(), {"-F", options.config_file});
  if (!options.identity_file.empty()) {
    base.argv.insert(base.argv.end(), {"-i", options.identity_file});
  }
  if (options.port) base.argv.insert(base.argv.end(), {"-p", std::to_string(options.port)});

  const bool per_gpu = plan.workload.process_per_gpu;
  const auto per_node = per_gpu ? topology.gpus_per_node : 1;
  const std::int64_t ranks = plan.workload.single_process ? 1 : topology.nodes * per_node;
  std::vector<ProcessSpec> all;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    // A marker for each rank: the end of one must not take its neighbours along.
    const auto marker = place.marker.empty() ? "" : fmt::format("{}#{}", place.marker, rank);
    Variables variables;
    for (const auto& [name, value] : *env) {
      variables.emplace_back(name, name == "BERTBENCH_TRIAL" ? marker : value);
    }
    const auto set = [&](const char* name, const std::string& value) {
      variables.emplace_back(name, value);
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
    set("MASTER_ADDR", address_of(host_of(plan, 0)));
    set("MASTER_PORT", place.master_port ? std::to_string(place.master_port) : "<port>");

    // ssh hands one text to the login shell over there, so every word is quoted for it.
    std::string remote = fmt::format("exec sh -c {} bertbench {} {}", word(kSupervisor),
                                     word(marker), variables.size());
    for (const auto& [name, value] : variables) remote += " " + word(name + "=" + value);
    remote += " " + word(full_program(plan));
    for (const auto& arg : *args) remote += " " + word(arg);
    ProcessSpec one = base;
    one.argv.insert(one.argv.end(), {"--", host_of(plan, rank / per_node), remote});
    all.push_back(std::move(one));
  }
  return all;
}

Result<void> check(const Plan& plan) {
  std::int64_t nodes = 0;
  for (const auto& cell : plan.cells) nodes = std::max(nodes, cell.topology.nodes);
  return check_enough_hosts(plan.config.hosts, nodes);
}

}  // namespace

extern const Launcher launcher_ssh;
const Launcher launcher_ssh{"ssh", "ranks over ssh, hosts in turn", "ssh", true, processes, check};

}  // namespace bertbench
