// What an all-reduce takes each pair of neighbouring ranks: a look at the network before a job.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>

#include "workloads/bert/core/launch_environment.h"

namespace bert {

/// For tests of the probe: `rank` rests `share` times as long as each all-reduce took, at most a
/// quarter of a second.
struct PairHandicap {
  double share = 0;
  std::int64_t rank = -1;  ///< below 0: none
};

/// Ranks i and i + 1 are a pair, and of three or more the last one and rank 0. Pairs that share no
/// rank measure at the same time: over the tcp communicator each sums 4 MiB of floats, eight times
/// after a first one that does not count. `out` gets a line from the first rank of each pair:
///   {"pair_probe": 1, "nodes": [0, 1], "gb_s": 1.25}
///     10^9 bytes summed a second, by the median time
///   {"pair_probe": 1, "nodes": [0, 1], "problem": "what went wrong"}   from either rank
/// `timeout` bounds meeting and each collective. Throws std::runtime_error where not all ranks
/// came, and std::invalid_argument for a world of one.
void probe_pairs(const LaunchEnvironment& environment, std::chrono::milliseconds timeout,
                 const PairHandicap& handicap, std::ostream& out);

}  // namespace bert
