// The keys of a config that belong to one launcher: "mpi", "ssh".
#pragma once

#include "harness/sweep/config/config.h"
#include "parsers/core/config_reader.h"

namespace bertbench {

/// Into config.mpi, config.ssh; what is wrong goes to the reader.
void read_launcher_options(ConfigReader& in, SweepConfig& config);
/// The same back, defaults included.
void add_launcher_options(const SweepConfig& config, Json& json);

}  // namespace bertbench
