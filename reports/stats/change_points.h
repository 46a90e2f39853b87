// Change points of a series of runs: where its level shifted.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bertbench {

inline constexpr std::size_t kLeastForChangePoints = 20;
inline constexpr std::size_t kLeastSegment = 3;

/// Begin of each new level, ascending, for values > 0. Optimal partitioning (Jackson 2005) of the
/// logarithms: squared deviations from the segments' means over the noise variance, plus 5 ln n for
/// each change. The noise is 1.4826 times the median of the absolute successive differences over
/// sqrt 2, which a shift does not inflate and a pattern in the series does not hide; at least 0.05
/// %. Nothing for fewer than 20 values; no segment is below 3.
[[nodiscard]] std::vector<std::size_t> change_points(std::span<const double> series);

/// The series with each value held to within 3 times that noise of the median of the five around
/// it, as log ratios (Hampel's identifier, Davies and Gather 1993): one value that something hit is
/// no level, and three are. For series of single runs; what iterations do is no spike.
[[nodiscard]] std::vector<double> without_spikes(std::span<const double> series);

}  // namespace bertbench
