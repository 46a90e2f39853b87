// The values of fields as logs print them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/described/field.h"
#include "parsers/lines/clock.h"

namespace bertbench {

/// "1,234.5", "12.5K" (thousands), "1e-4", nan, inf.
[[nodiscard]] std::optional<double> printed_number(std::string_view text);
/// The same, and the product of a list: "4, 8" is 32.
[[nodiscard]] std::optional<double> printed_product(std::string_view text);
/// What the last digit stands for: 0.01 for "1.25", 100 for "12.5K".
[[nodiscard]] double last_digit(std::string_view text);
/// A date and time, seconds since 1970, or a time of day that goes on ("25:00:10").
[[nodiscard]] std::optional<Stamp> printed_stamp(std::string_view text, bool day_first);
/// Seconds: "1:02:03", "43", "1 day, 0:27:46", "2m 30s", "980us".
[[nodiscard]] std::optional<double> printed_duration(std::string_view text);
/// Seconds: a number as printed_number reads it, else a duration.
[[nodiscard]] std::optional<double> printed_time(std::string_view text);

/// The words of a name, in small letters: "perf/step_ms" has perf, step and ms.
[[nodiscard]] std::vector<std::string> words_of(std::string_view name);

/// Whether the text is what a field of this kind needs.
[[nodiscard]] bool readable(FieldKind kind, std::string_view text);

}  // namespace bertbench
