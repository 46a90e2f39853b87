// How process.cpp starts a process. The body is the only file that includes Boost.Process, which
// takes long to compile.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

/// Starts `program` with argv (argv[0] is the program's name) and exactly this environment, as a
/// member of process group `group` (0: the leader of a new one). Returns after exec succeeded.
/// `stdin_fd` < 0: /dev/null.
Result<pid_t> spawn_process(const std::string& program, const std::vector<std::string>& argv,
                            const std::map<std::string, std::string>& environment,
                            const std::string& cwd, int log_fd, int stdin_fd, pid_t group);

}  // namespace bertbench
