// Hosts: names of machines, from a list or a hostfile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

/// A host name, address or user@host that no program can take for an option.
Result<void> check_host(const std::string& host);

/// One host a line, first word; '#' begins a comment ("node1 slots=8" as Open MPI writes it).
Result<std::vector<std::string>> read_hostfile(const std::string& path);

/// A machine and how many nodes of a topology fall on it.
struct HostShare {
  std::string host;
  std::int64_t nodes = 0;
};
/// The first `nodes` of `hosts` in their order, equal ones joined; every loopback name or address
/// is "localhost". Without hosts: "<host1>" ..., and one node alone is this machine.
std::vector<HostShare> shares_of(const std::vector<std::string>& hosts, std::int64_t nodes);
bool is_loopback(const std::string& host);
/// Error unless there is a host for each of `nodes` nodes, the most that a cell of the grid has.
Result<void> check_enough_hosts(const std::vector<std::string>& hosts, std::int64_t nodes);

}  // namespace bertbench
