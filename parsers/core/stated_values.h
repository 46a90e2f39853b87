// What a log states of one GPU next to its steps, as trainers print it; none of it is computed
// here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parsers/core/thinned_series.h"

namespace bertbench {

enum class StatedValue : std::size_t { tflops, watts, joules, tokens };
inline constexpr std::size_t kStatedValues = 4;
/// By StatedValue, each of one GPU.
struct StatedName {
  std::string_view key, unit;  ///< in results, and for people
};
inline constexpr std::array<StatedName, kStatedValues> kStatedNames = {
    {{"tflops_per_gpu", "TFLOP/s"},
     {"watts_per_gpu", "W"},
     {"joules_per_iteration_per_gpu", "J an iteration"},
     {"tokens_per_second_per_gpu", "tokens/s"}}};

/// One value of a line.
struct StatedLine {
  std::int64_t line = 0;  ///< 1-based line of the log
  StatedValue what = StatedValue::tflops;
  double value = 0;
};
using StatedSeries = ThinnedSeries<StatedLine>;

}  // namespace bertbench
