// Units of time, and durations with a unit at each part: "2m 30s", "1h5m", "0 min 12.5 sec", "1
// hour, 3 minutes".
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace bertbench {

/// Seconds in one of a unit: "ms", "sec", "minutes", "h", "days". In small letters.
[[nodiscard]] std::optional<double> seconds_of_unit(std::string_view unit);

struct SpelledDuration {
  double seconds = 0;
  std::size_t length = 0;  ///< bytes of the text
};
/// At the start of `text`; of two parts or more, as one alone is a number with its unit.
[[nodiscard]] std::optional<SpelledDuration> spelled_duration(std::string_view text);

}  // namespace bertbench
