// "scaling": what stays constant from cell to cell while the number of GPUs grows. weak: the
// sequences of one GPU. strong: those of the whole job, the axis global_batch_size, which is
// divided among the GPUs.
#pragma once

#include <map>
#include <string>

#include "parsers/core/config_reader.h"
#include "parsers/core/error.h"
#include "parsers/core/topology.h"

namespace bertbench {

struct SweepConfig;

/// Reports to `in` each axis that contradicts "scaling". To be called after grid and zip are read.
void check_scaling(ConfigReader& in, const SweepConfig& config);

/// `point` is a cell, axis -> value. Where it has a global_batch_size (strong scaling), adds
/// gradient_accumulation_steps if micro_batch_size is given, else micro_batch_size. An error where
/// the sequences cannot be divided evenly.
Result<void> divide_global_batch(std::map<std::string, std::string>& point,
                                 const Topology& topology);

}  // namespace bertbench
