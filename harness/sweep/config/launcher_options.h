// The keys of a config that belong to one launcher: "mpi", "ssh", "slurm".
#pragma once

#include "harness/sweep/config/config.h"
#include "parsers/core/config_reader.h"

namespace bertbench {

/// Reads them into `config`; what is wrong is an error of the reader.
void read_launcher_options(ConfigReader& in, SweepConfig& config);
/// Writes them into `json`, defaults included.
void add_launcher_options(const SweepConfig& config, Json& json);

}  // namespace bertbench
