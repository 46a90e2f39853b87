// The noise of a baseline, from which the gate's tolerance and its forecast power follow.
#pragma once

#include <cstddef>
#include <span>

namespace bertbench {

/// Runs that a baseline needs before the spread of their medians is its noise.
inline constexpr std::size_t kRunsForNoise = 3;

/// Three standard deviations, as a fraction of the rate: from kRunsForNoise runs on those of the
/// runs' medians over `reference`, their median; of fewer runs 3 x 1.4826 MAD of all trials over
/// the trials' median. `pooled`: trials of all runs, `medians`: one a run; neither is empty.
[[nodiscard]] double gate_noise(std::span<const double> pooled, std::span<const double> medians,
                                double reference);

}  // namespace bertbench
