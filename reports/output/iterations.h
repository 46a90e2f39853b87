// Rows of iterations.csv: one a record of a log, as `extract --iterations` and a sweep write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/core/record.h"
#include "parsers/core/run_log.h"

namespace bertbench {

inline constexpr std::string_view kIterationsHeader =
    "log,trial,step,time_s,seconds,sequences_per_second,loss,rank_spread\n";

/// The shortest text of a number; empty where it is unknown.
[[nodiscard]] std::string iteration_number(double value);

/// "<log>,<trial>,", what every row of one run begins with; an empty `trial` is unknown.
[[nodiscard]] std::string iterations_prefix(std::string_view log, const std::string& trial);

/// The columns from `step` on, newline included; what the log does not give is empty. `sequences`
/// of the whole job per iteration as the log counts them; sequences/s follow from the step's own
/// time, and where the log prints no time from the rate it prints, in `unit`.
void append_iteration(std::string& text, const Record& record,
                      std::optional<std::int64_t> sequences, RateUnit unit);

}  // namespace bertbench
