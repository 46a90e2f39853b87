// "scaling": what the cells of a grid keep while the number of GPUs grows. weak: the sequences of
// one GPU. strong: those of the whole job, the axis global_batch_size, which is divided among the
// GPUs.
#pragma once

#include <map>
#include <string>

#include "parsers/core/config_reader.h"
#include "parsers/core/error.h"
#include "parsers/core/topology.h"

namespace bertbench {

struct SweepConfig;

/// "scaling" into the config. Before the grid is read.
void read_scaling(ConfigReader& in, SweepConfig& config);
/// Axes that contradict it go to the reader. After grid and zip are read.
void check_scaling(ConfigReader& in, const SweepConfig& config);

/// Of a cell with a global_batch_size (strong scaling), axis -> value: adds what follows from it,
/// gradient_accumulation_steps where micro_batch_size is given, else micro_batch_size. An error
/// where the sequences cannot be divided evenly.
Result<void> divide_global_batch(std::map<std::string, std::string>& point,
                                 const Topology& topology);

}  // namespace bertbench
