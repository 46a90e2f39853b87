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

std::string counts_in_words(const std::map<std::string_view, int>& counts) {
  std::string out;
  for (const auto& [what, n] : counts) {
    out += fmt::format("{}{} x{}", out.empty() ? "" : ", ", what, n);
  }
  return out;
}

std::string outcomes_of(const Cell& cell) {
  std::map<std::string_view, int> counts;
  for (const Trial& trial : cell.trials) {
    ++counts[is_failure(trial.outcome.status) ? name(trial.outcome.status)
             : trial.window.covered           ? "no rate"
                                              : "window not covered"];
  }
  return counts.empty() ? "no trials" : counts_in_words(counts);
}

std::string failed_outcomes_of(const Cell& cell) {
  std::map<std::string_view, int> counts;
  for (const Trial& trial : cell.trials) {
    if (ended_badly(trial.outcome.status)) ++counts[name(trial.outcome.status)];
  }
  return counts_in_words(counts);
}

}  // namespace bertbench
