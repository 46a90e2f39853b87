// Hosts: names of machines, from a list or a hostfile.
#pragma once

#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

/// A host name, address or user@host that no program can take for an option.
Result<void> check_host(const std::string& host);

/// One host a line, first word; '#' begins a comment ("node1 slots=8" as Open MPI writes it).
Result<std::vector<std::string>> read_hostfile(const std::string& path);

}  // namespace bertbench
