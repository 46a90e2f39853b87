// StepPart: the parts of a training step, and what the trainer's own timers give for each.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "parsers/core/thinned_series.h"

namespace bertbench {

enum class StepPart : std::uint8_t { forward, backward, reduce, optimizer, data };
inline constexpr std::array<std::string_view, 5> kStepPartNames{"forward", "backward", "reduce",
                                                                "optimizer", "data"};
inline constexpr std::size_t kStepParts = kStepPartNames.size();

/// Seconds of one optimizer step, by StepPart; NaN where the line names no such part. They are the
/// trainer's own and need not add up to the step: Megatron-LM's forward holds its data, and what
/// runs at the same time counts in both. Single precision, as no timer prints more.
struct PartTimes {
  std::int64_t line = 0;  ///< 1-based line of the log
  std::array<float, kStepParts> seconds = unknown();

  [[nodiscard]] float& of(StepPart part) { return seconds[static_cast<std::size_t>(part)]; }
  [[nodiscard]] float of(StepPart part) const { return seconds[static_cast<std::size_t>(part)]; }
  /// A part that the line prints in pieces is their sum. Negative values, those above
  /// kLongestPart_s and NaN are ignored.
  void add(StepPart part, double value) {
    constexpr double kLongestPart_s = 1e6;
    if (!(value >= 0 && value <= kLongestPart_s)) return;
    float& sum = of(part);
    sum = static_cast<float>(std::isnan(sum) ? value : sum + value);
  }
  [[nodiscard]] bool known() const {
    for (const float value : seconds) {
      if (!std::isnan(value)) return true;
    }
    return false;
  }

 private:
  static constexpr std::array<float, kStepParts> unknown() {
    std::array<float, kStepParts> out{};
    out.fill(std::numeric_limits<float>::quiet_NaN());
    return out;
  }
};

using PartSeries = ThinnedSeries<PartTimes>;

}  // namespace bertbench
