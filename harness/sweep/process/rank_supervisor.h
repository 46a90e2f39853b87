// The shell script that runs one rank where the harness cannot reach it by signals: through ssh and
// in a Slurm task. It starts the rank in a session of its own, ends it when its stdin ends, however
// that comes, and gives its status.
#pragma once

#include <string_view>

namespace bertbench {

/// POSIX sh. $1: what the rank's environment holds as BERTBENCH_TRIAL; $2: how many NAME=VALUE
/// follow; then the command. No text of a config is part of it; all of it comes as arguments.
std::string_view rank_supervisor();

}  // namespace bertbench
