// "phases": parts of one training that run one after the other, each going on from the checkpoint
// of the one before, as BERT's pre-training at 128 tokens and then at 512.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/config_reader.h"

namespace bertbench {

struct SweepConfig;
struct Workload;

/// Name of the axis that numbers the phases of a point of the grid, from 1.
inline constexpr const char* kPhaseAxis = "phase";

/// What a phase has above the grid and the configuration.
struct Phase {
  std::map<std::string, std::string> axes;  ///< axis -> value
  std::vector<std::string> args;            ///< appended to the configuration's
  std::int64_t steps = 0;                   ///< optimizer steps of this phase
};

/// Reads "phases" into `config`. To be called before the grid is read.
void read_phases(ConfigReader& in, const Workload& workload, SweepConfig& config);
/// Reports to `in` each key that cannot be used together with phases. To be called last.
void check_phases(ConfigReader& in, const SweepConfig& config);
/// True when there are phases and every one of them gives this axis.
bool phases_give(const SweepConfig& config, const std::string& axis);
/// Writes "phases" into `json`, where there are any.
void add_phases(const SweepConfig& config, Json& json);

}  // namespace bertbench
