#include "harness/sweep/launcher_options.h"

#include <fmt/format.h>

#include <algorithm>

namespace bertbench {
namespace {

/// The section `key`, or null when it is not there or no object (which is then reported).
const Json* section(ConfigReader& in, const std::string& key,
                    const std::vector<std::string>& known) {
  if (!in.root().contains(key)) return nullptr;
  const auto& object = in.root()[key];
  if (!object.is_object()) {
    in.fail_at("/" + key, "must be an object", fmt::format("keys: {}", fmt::join(known, ", ")));
    return nullptr;
  }
  in.check_keys(object, "/" + key, known, "key");
  return &object;
}

void check_word(ConfigReader& in, const std::string& pointer, const std::string& value,
                const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  in.fail_at(pointer, fmt::format("'{}' is not one of {}", value, fmt::join(allowed, ", ")));
}

}  // namespace

void read_launcher_options(ConfigReader& in, SweepConfig& config) {
  if (const auto* mpi = section(in, "mpi", {"implementation", "bind_to"})) {
    in.text(*mpi, "/mpi", "implementation", config.mpi.implementation);
    in.text(*mpi, "/mpi", "bind_to", config.mpi.bind_to);
    check_word(in, "/mpi/implementation", config.mpi.implementation, {"auto", "openmpi", "mpich"});
    check_word(in, "/mpi/bind_to", config.mpi.bind_to,
               {"none", "core", "hwthread", "socket", "numa"});
  }
  if (const auto* ssh = section(in, "ssh", {"port", "identity_file", "config_file"})) {
    in.integer(*ssh, "/ssh", "port", config.ssh.port, 0, 65535);
    in.text(*ssh, "/ssh", "identity_file", config.ssh.identity_file);
    in.text(*ssh, "/ssh", "config_file", config.ssh.config_file);
  }
}

void add_launcher_options(const SweepConfig& config, Json& json) {
  json["mpi"] = {{"implementation", config.mpi.implementation}, {"bind_to", config.mpi.bind_to}};
  json["ssh"] = {{"port", config.ssh.port},
                 {"identity_file", config.ssh.identity_file},
                 {"config_file", config.ssh.config_file}};
}

}  // namespace bertbench
