#include "reports/measure/stated_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr double kApart = 1.9;
constexpr std::size_t kRecordsOfBoth = 3;  // that have times and a stated rate

// By times and facts over as stated, of each record that has both.
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

std::optional<Notice> stated_rate_is_apart(const RunLog& log, std::span<const Record> window,
                                           std::int64_t per_iteration) {
  const auto ratios = ratios_of(log, window, per_iteration);
  if (ratios.size() < kRecordsOfBoth) return std::nullopt;
  const double ratio = quantile(ratios, 0.5);
  if (!(std::max(ratio, 1 / ratio) >= kApart)) return std::nullopt;
  return make_notice(NoticeCode::stated_rate_apart, 0, std::max(ratio, 1 / ratio),
                     ratio > 1 ? "many" : "few");
}

std::optional<Notice> mean_of_rates_misleads(std::span<const Record> window, RateUnit unit) {
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
  return make_notice(NoticeCode::mean_of_rates_misleads, 0, sum / lines, name(unit), 100 * above,
                     iterations / time);
}

}  // namespace bertbench
