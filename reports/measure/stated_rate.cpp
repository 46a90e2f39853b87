#include "reports/measure/stated_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr double kApart = 1.9;
constexpr std::size_t kEnough = 3;  // records that tell both

// By times and facts over as stated, of each record that tells both.
std::vector<double> ratios_of(const RunLog& log, std::span<const Record> window,
                              std::int64_t per_iteration) {
  std::vector<double> out;
  if (log.rate_unit != RateUnit::sequences_per_second) return out;
  for (const Record& record : window) {
    if (!(record.seconds > 0) || !(record.printed_rate > 0) || record.iterations < 1) continue;
    const double work = static_cast<double>(record.iterations) * static_cast<double>(per_iteration);
    out.push_back(work / record.seconds / record.printed_rate);
  }
  return out;
}

}  // namespace

std::optional<std::string> stated_rate_is_apart(const RunLog& log, std::span<const Record> window,
                                                std::int64_t per_iteration) {
  const auto ratios = ratios_of(log, window, per_iteration);
  if (ratios.size() < kEnough) return std::nullopt;
  const double ratio = quantile(ratios, 0.5);
  if (!(std::max(ratio, 1 / ratio) >= kApart)) return std::nullopt;
  return fmt::format(
      "{:.3g} times as {} sequences/s by the log's times and the facts as it states in the same "
      "lines: a batch, the world size or the accumulation differs from the facts, or the stated "
      "rate is not the whole job's; check the facts, or choose by --estimator",
      std::max(ratio, 1 / ratio), ratio > 1 ? "many" : "few");
}

std::optional<std::string> mean_of_rates_misleads(std::span<const Record> window, RateUnit unit) {
  constexpr double kMisleads = 0.03;
  double sum = 0, lines = 0, iterations = 0, time = 0;
  for (const Record& record : window) {
    if (!(record.printed_rate > 0) || !std::isfinite(record.printed_rate)) continue;
    const auto work = static_cast<double>(std::max<std::int64_t>(1, record.iterations));
    sum += record.printed_rate;
    lines += 1;
    iterations += work;
    time += work / record.printed_rate;
  }
  if (lines < 2 || !(time > 0)) return std::nullopt;
  const double above = sum / lines / (iterations / time) - 1;
  if (!(above >= kMisleads)) return std::nullopt;
  return fmt::format(
      "the printed rates differ: their mean, {:.6g} {}, is {:.0f} % above all work over the time "
      "that they add up to ({:.6g})",
      sum / lines, name(unit), 100 * above, iterations / time);
}

}  // namespace bertbench
