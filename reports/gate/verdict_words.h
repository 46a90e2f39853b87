// Wording that the reasons of verdicts share, for runs and for pairs.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "reports/model/result_set.h"

namespace bertbench {

/// "1.3 %", a small share as "0.05 %".
[[nodiscard]] std::string percent(double fraction);
/// "2.1 % slower", "no change".
[[nodiscard]] std::string change_words(double change);
/// ", 95.1 % interval -2.4 % to -1.7 %"; nothing for an interval without coverage.
[[nodiscard]] std::string interval_words(const Interval& interval);
/// "error x6, killed x1"
[[nodiscard]] std::string counts_in_words(const std::map<std::string_view, int>& counts);
/// How the trials of a cell ended: "completed x3, window not covered x1".
[[nodiscard]] std::string outcomes_of(const Cell& cell);
/// The same of those that ended badly: "error x6".
[[nodiscard]] std::string failed_outcomes_of(const Cell& cell);

}  // namespace bertbench
