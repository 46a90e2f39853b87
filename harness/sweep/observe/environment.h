// Facts about this machine.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

namespace bertbench {

struct EnvironmentOptions {
  bool hostname = false;          ///< left out unless asked for, as results are published
  std::string configuration{};    ///< text whose digest is kept: what was asked for
  std::string version_name{};     ///< of the launcher, among the libraries; empty: none
  std::string version_program{};  ///< the program that prints its version
  /// Takes the secrets out of a word of this process's command line; empty: there are none.
  std::function<std::string(std::string)> conceal{};
};

/// Object for environment.json and ResultSet::environment: cpu, cores, memory, kernel, governor,
/// load, container, compiler, GPUs, driver, CUDA, libraries found (cuDNN, NCCL, MPI), git state of
/// the current folder, command, digest of the configuration. Unknown is left out.
nlohmann::ordered_json capture_environment(const EnvironmentOptions& options = {});

/// Versions that logs name (python, torch, cuda, nccl ...), as environment member "software": name
/// to value, or to a list where logs differ. GPU names are left out.
void add_software(nlohmann::ordered_json& environment,
                  const std::map<std::string, std::set<std::string>>& versions);

/// Cores this process may use (affinity mask and cgroup quota, rounded up), at least 1.
int usable_cores();

}  // namespace bertbench
