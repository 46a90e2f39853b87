// ssh: one ssh a rank, host i for node i. Over there a small script of POSIX sh starts the rank in
// a session of its own, ends it when the connection ends, however that comes, and gives its status.
#include <fmt/format.h>

#include <algorithm>

#include "harness/sweep/config/hosts.h"
#include "harness/sweep/observe/node_telemetry.h"
#include "harness/sweep/plan/trainer_call.h"
#include "harness/sweep/process/rank_supervisor.h"

namespace bertbench::launcher_ssh {
namespace {

/// The name under which other hosts find it.
std::string address_of(const std::string& host) {
  return is_loopback(host) ? "127.0.0.1" : host.substr(host.rfind('@') + 1);
}

/// ssh with its options, up to the host.
ProcessSpec connection(const Plan& plan) {
  const auto& options = plan.config.ssh;
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
  return base;
}

std::vector<NodeSampler> samplers(const Plan& plan, const PlannedTrial& trial,
                                  const LaunchPlace& place) {
  const auto& cell = plan.cells[trial.cell];
  std::vector<NodeSampler> all;
  for (const auto& share : shares_of(plan.config.hosts, cell.topology.nodes)) {
    const auto gpus = cell.cpu_stands_in ? 0 : share.nodes * cell.topology.gpus_per_node;
    std::string remote = fmt::format("exec sh -c {} bertbench {}", single_quoted(sampler_script()),
                                     single_quoted(sampler_program()));
    for (const auto& text :
         sampler_arguments(place.marker, gpus, place.directory + "/" + kTrainingMark)) {
      remote += " " + single_quoted(text);
    }
    std::int64_t node = 0;
    while (host_of(plan, node) != share.host && !is_loopback(host_of(plan, node))) ++node;
    NodeSampler one{node, connection(plan)};
    one.process.argv.insert(one.process.argv.end(),
                            {"--", host_of(plan, node), remote + " --until-input-ends"});
    all.push_back(std::move(one));
  }
  return all;
}

Result<std::vector<ProcessSpec>> processes(const Plan& plan, const PlannedTrial& trial,
                                           const LaunchPlace& place) {
  std::int64_t most = 1;  // nodes that one machine stands for
  for (const auto& share : shares_of(plan.config.hosts, plan.cells[trial.cell].topology.nodes)) {
    most = std::max(most, share.nodes);
  }
  const auto call = trainer_call(plan, trial, place, most, true);
  if (!call) return tl::unexpected(call.error());

  const auto base = connection(plan);
  std::vector<ProcessSpec> all;
  for (std::int64_t process = 0; process < call->processes(); ++process) {
    // A marker for each process: the end of one must not take its neighbours along.
    const auto marker = place.marker.empty() ? "" : fmt::format("{}#{}", place.marker, process);
    auto variables = call->env;
    for (auto& [name, value] : variables) {
      if (name == "BERTBENCH_TRIAL") value = marker;
    }
    for (auto& one :
         place_variables(*call, process, master_of(*call, address_of(host_of(plan, 0))))) {
      variables.push_back(std::move(one));
    }
    std::vector<std::string> words{marker, std::to_string(variables.size())};
    for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
    words.insert(words.end(), call->words.begin(), call->words.end());
    ProcessSpec one = base;
    const bool secret = std::ranges::any_of(
        words, [&](const auto& text) { return plan.config.secrets.held_by(text); });
    std::string script(rank_supervisor());
    if (secret) script.insert(0, word_reader());
    // ssh hands one text to the login shell over there, so every word is quoted for it; $'...' of
    // shell_quote() is not known to all of them.
    std::string remote = fmt::format("exec sh -c {} bertbench", single_quoted(script));
    if (secret) {
      one.input = std::move(words);
    } else {
      for (const auto& text : words) remote += " " + single_quoted(text);
    }
    one.argv.insert(one.argv.end(), {"--", host_of(plan, process / call->per_node), remote});
    all.push_back(std::move(one));
  }
  return all;
}

Result<void> check(const Plan& plan) {
  std::int64_t nodes = 0;
  for (const auto& cell : plan.cells) nodes = std::max(nodes, cell.topology.nodes);
  return check_enough_hosts(plan.config.hosts, nodes);
}

std::string name_exit(const ExitStatus& exit) {
  return exit.code == 255 ? "ssh could not reach a host or lost it; see the log" : "";
}

}  // namespace

extern const Launcher entry{.name = "ssh",
                            .title = "ranks over ssh, hosts in turn",
                            .hosts = RankHosts::configured,
                            .program = "ssh",
                            .processes = processes,
                            .check = check,
                            .name_exit = name_exit,
                            .watches_nodes = true,
                            .samplers = samplers};

}  // namespace bertbench::launcher_ssh
