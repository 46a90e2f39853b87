// What this machine is, and what would spoil a measurement on it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace bertbench {

/// Object for environment.json and ResultSet::environment: cpu, cores, memory, kernel, governor,
/// load, container, compiler, library versions, GPUs. Unknown is left out. The host name is left
/// out unless asked for, as results are published.
nlohmann::ordered_json capture_environment(bool with_hostname = false);

enum class Severity { ok, info, warning };

struct DoctorFinding {
  Severity severity = Severity::ok;
  std::string subject;  ///< "governor", "load", "threads", "clock source" ...
  std::string text;     ///< what was found
  std::string advice;   ///< what to do about it; empty when ok
};

std::string_view name(Severity severity);

/// Checks of this machine, worst first. `path`: where a sweep would write (free space).
std::vector<DoctorFinding> doctor(const std::string& path = ".");

/// Cores this process may use (affinity mask and cgroup quota, rounded up), at least 1.
int usable_cores();

}  // namespace bertbench
