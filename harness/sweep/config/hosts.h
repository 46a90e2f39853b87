// Hosts: names of machines, from a list or a hostfile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/topology.h"

namespace bertbench {

/// A host name, address or user@host that no program can take for an option.
Result<void> check_host(const std::string& host);

struct Hostfile {
  std::vector<std::string> hosts;             ///< in the order of the lines
  std::map<std::string, std::int64_t> slots;  ///< ranks that a host takes, where it states them
};
/// A name, and "slots=8" where the host takes that many ranks, as Open MPI writes it; nothing else.
/// Of a host that stands there several times the slots are added.
Result<void> add_host(std::string_view text, Hostfile& out);
/// What add_host() reads back to the same: all slots of a host stand where it stands first.
[[nodiscard]] std::vector<std::string> host_texts(const Hostfile& hosts);
/// One host a line, as for add_host(); '#' begins a comment.
Result<Hostfile> read_hostfile(const std::string& path);

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
/// Error where one of the hosts gets more ranks than it has slots, GPUs of each node included.
Result<void> check_slots(const std::vector<std::string>& hosts,
                         const std::map<std::string, std::int64_t>& slots, const Topology& cell);

}  // namespace bertbench
