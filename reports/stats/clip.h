// Clipping of outliers before a detection. Never applied to what is reported.
#pragma once

#include <span>
#include <vector>

namespace bertbench {

/// The series clamped to Tukey's fences (1.5 interquartile ranges beyond the quartiles). The fences
/// are at least 10 % of the median wide: a perfectly even series has no quartile range, and
/// clipping to it would hide the warm-up itself. The series must not be empty.
[[nodiscard]] std::vector<double> clipped(std::span<const double> series);

}  // namespace bertbench
