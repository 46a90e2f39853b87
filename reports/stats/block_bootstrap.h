// Moving-block bootstrap of the mean of a correlated series, such as the iteration times of one
// run.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "reports/model/result_set.h"

namespace bertbench {

/// Below this many values the percentile interval covers too little to be shown.
inline constexpr std::size_t kLeastForBootstrap = 50;

/// Block length for the mean: Politis and White 2004 with the correction of Patton, Politis and
/// White 2009 (circular blocks), at least 1, at most ceil(min(3 sqrt n, n / 3)).
[[nodiscard]] std::size_t block_length(std::span<const double> series);

struct BlockInterval {
  Interval interval;      ///< of the mean, percentile method
  std::size_t block = 1;  ///< values in a block
};

/// Kuensch 1989. Deterministic: the same series gives the same interval on every machine. Beyond
/// 4096 values neighbours are averaged first, which the blocks would hold together anyway. Nothing
/// below kLeastForBootstrap values.
[[nodiscard]] std::optional<BlockInterval> bootstrap_mean(std::span<const double> series,
                                                          double confidence = 0.95,
                                                          std::size_t resamples = 1000);

}  // namespace bertbench
