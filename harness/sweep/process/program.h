// Finds the programs that a sweep starts.
#pragma once

#include <string>

namespace bertbench {

/// Full path of an executable: with a '/' checked as it is, else searched on PATH; empty if none.
std::string find_program(const std::string& name);
/// Full path of this program; empty if unknown.
std::string own_program();

}  // namespace bertbench
