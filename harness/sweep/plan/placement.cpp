#include "harness/sweep/plan/placement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "harness/sweep/config/hosts.h"
#include "parsers/core/text.h"
#include "parsers/core/trainer_options.h"

namespace bertbench {

Notice emulated_nodes(std::int64_t nodes, std::int64_t machines) {
  return make_notice(NoticeCode::nodes_emulated, 0, nodes,
                     machines == 1 ? "one machine" : fmt::format("{} machines", machines));
}

Notice outnumbered(std::int64_t ranks, std::int64_t cores) {
  return make_notice(NoticeCode::ranks_outnumber_cores, 0, ranks, counted(cores, "core"));
}

bool is_this_machine(const std::string& host) {
  static const std::string kHere = [] {
    char name[256] = {};
    const bool known = gethostname(name, sizeof name - 1) == 0;
    return known ? std::string(name, 0, std::string_view(name).find('.')) : std::string();
  }();
  const auto name = std::string_view(host).substr(host.rfind('@') + 1);
  return is_loopback(host) || (!kHere.empty() && name.substr(0, name.find('.')) == kHere);
}

std::vector<NodePlace> parse_nodes(std::string_view text) {
  std::vector<NodePlace> out;
  for (const auto line : split(text, '\n')) {
    const auto words = split(trim(line), ' ');
    if (words.size() == 2) out.push_back({std::string(words[0]), std::string(words[1])});
  }
  return out;
}

std::vector<Notice> placement_warnings(const Plan& plan, const PlannedCell& cell,
                                       const std::vector<NodePlace>& nodes) {
  std::vector<Notice> out;
  // Of an allocation larger than the cell, srun takes the first nodes.
  std::map<std::string, std::int64_t> hosts;
  const auto wanted = static_cast<std::size_t>(cell.topology.nodes);
  for (std::size_t i = 0; i < std::min(nodes.size(), wanted); ++i) ++hosts[nodes[i].host];
  if (nodes.size() < wanted) return out;
  if (hosts.size() < wanted) {
    out.push_back(emulated_nodes(cell.topology.nodes, static_cast<std::int64_t>(hosts.size())));
  }
  for (const auto& [host, count] : hosts) {
    const auto ranks = count * cell.topology.gpus_per_node;
    if (is_this_machine(host) && ranks > plan.cores) out.push_back(outnumbered(ranks, plan.cores));
  }
  return out;
}

bool ranks_are_cpus(const PlannedCell& cell, const Workload& workload) {
  if (!workload.is_bert_train) return false;
  if (const auto it = cell.point.find("backend"); it != cell.point.end()) {
    return it->second == "cpu";
  }
  const OptionValues given = given_options(cell.args);
  const auto backend = given.find("backend");
  return backend == given.end() || backend->second == "cpu";
}

}  // namespace bertbench
