// Placement: warnings that follow from where the ranks of a cell ran.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/sweep/plan/plan.h"

namespace bertbench {

Notice emulated_nodes(std::int64_t nodes, std::int64_t machines);
Notice outnumbered(std::int64_t ranks, std::int64_t cores);

/// A loopback name or address, or this machine's own name.
bool is_this_machine(const std::string& host);

/// A node's machine.
struct NodePlace {
  std::string node, host;
};
/// "node host" a line; lines of another form are left out.
std::vector<NodePlace> parse_nodes(std::string_view text);

/// Warnings of a cell whose nodes were these: nodes that share a machine, more ranks than this
/// machine (where it is one of them) has cores.
std::vector<Notice> placement_warnings(const Plan& plan, const PlannedCell& cell,
                                       const std::vector<NodePlace>& nodes);

/// True where ranks are CPU processes that stand in for GPUs.
bool ranks_are_cpus(const PlannedCell& cell, const Workload& workload);

}  // namespace bertbench
