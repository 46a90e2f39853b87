// "variants": what differs between the commands that every cell runs in turn, so that their rates
// can be compared pair by pair (bertbench check --paired).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "parsers/core/config_reader.h"

namespace bertbench {

struct SweepConfig;

/// What a variant has above the configuration.
struct Variant {
  std::string name;
  std::vector<std::string> args;           ///< appended to the configuration's
  std::map<std::string, std::string> env;  ///< above the configuration's
  std::string trainer;  ///< a program in place of the first word of the command; empty: the same
};

/// Reads "variants" and "order_seed" into `config`; what is wrong is an error of the reader. The
/// options in `args` are not checked here.
void read_variants(ConfigReader& in, SweepConfig& config);
/// Writes both into `json`, where there are variants.
void add_variants(const SweepConfig& config, Json& json);

/// The order in which `variants` variants run in block `block` (from 1) of a point of the grid:
/// their indices. Drawn anew in each odd block, and turned round in the even one after it, so that
/// each of two variants comes first equally often. The same for the same seed.
std::vector<std::size_t> order_in_block(std::int64_t seed, std::size_t point, int block,
                                        std::size_t variants);

}  // namespace bertbench
