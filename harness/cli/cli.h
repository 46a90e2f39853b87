// The whole program as a function, so that tests call what users run.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/cli/console.h"

namespace bertbench {

/// `args` without the program's name. Returns the exit status.
int run_cli(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
            Terminal terminal = {});

}  // namespace bertbench
