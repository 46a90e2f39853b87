#include "reports/gate/verdict_words.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>

namespace bertbench {

std::string percent(double fraction) {
  return fmt::format("{:.{}f} %", 100 * fraction, std::abs(fraction) < 0.001 ? 2 : 1);
}

std::string change_words(double change) {
  if (change == 0) return "no change";
  return percent(std::abs(change)) + (change < 0 ? " slower" : " faster");
}

std::string interval_words(const Interval& interval) {
  if (interval.coverage <= 0) return "";
  return fmt::format(", {:.1f} % interval {:+.1f} % to {:+.1f} %", 100 * interval.coverage,
                     100 * interval.low, 100 * interval.high);
}

std::string outcomes_of(const Cell& cell) {
  std::map<std::string_view, int> counts;
  for (const Trial& trial : cell.trials) {
    const bool uncovered = !is_failure(trial.outcome.status);
    ++counts[uncovered ? "window not covered" : name(trial.outcome.status)];
  }
  std::string out;
  for (const auto& [status, n] : counts) {
    out += fmt::format("{}{} x{}", out.empty() ? "" : ", ", status, n);
  }
  return out.empty() ? "no trials" : out;
}

}  // namespace bertbench
