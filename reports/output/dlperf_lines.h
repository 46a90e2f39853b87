// Reading lines and numbers as the Python of DLPerf's scripts does; for dlperf_scripts.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace bertbench::dlperf {

[[nodiscard]] bool has(std::string_view text, std::string_view what);
[[nodiscard]] constexpr bool digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] std::size_t digits_at(std::string_view text, std::size_t at);

/// The first "<key><digits>.<digits><tail>" of the line.
[[nodiscard]] std::optional<double> decimal_between(std::string_view text, std::string_view key,
                                                    std::string_view tail);
[[nodiscard]] std::optional<std::int64_t> integer_at(std::string_view text, std::size_t at);

/// "H:M:S.ffffff" at `at`, in microseconds.
[[nodiscard]] std::optional<std::int64_t> time_of_day(std::string_view text, std::size_t at);
/// The first "YYYY-M-D H:M:S.ffffff" of the line, in microseconds since some day.
[[nodiscard]] std::optional<std::int64_t> date_and_time(std::string_view text);

/// numpy's mean of a contiguous array: pairwise sums, eight lanes in blocks of 128.
[[nodiscard]] double numpy_mean(const std::vector<double>& values);

/// Python's round(x, digits) of a float: correctly rounded in decimal, ties of the exact binary
/// value to even.
[[nodiscard]] double python_round(double value, int digits);

}  // namespace bertbench::dlperf
