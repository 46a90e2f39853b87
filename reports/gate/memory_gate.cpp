#include "reports/gate/memory_gate.h"

#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "reports/gate/verdict_words.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr double kMebibyte = 1 << 20;
/// Bytes that a peak may grow by when it is the largest look at a process and not a count of its
/// allocations: looks at a short trial miss its peak by more than the floor (seen: 2 of 11 MiB).
constexpr double kSampledSlack = 32 * kMebibyte;
constexpr std::string_view kSampledSource = "proc";

/// Median peaks by their source.
std::map<std::string, double> peaks_of(const Cell& cell) {
  std::map<std::string, std::vector<double>> peaks;
  for (const Trial& trial : cell.trials) {
    std::optional<MemoryRecord> used;
    if (trial.memory) take_more(used, *trial.memory, trial.outcome.status);
    if (used) peaks[used->source].push_back(static_cast<double>(used->peak_bytes));
  }
  std::map<std::string, double> out;
  for (const auto& [source, values] : peaks) out[source] = median(values);
  return out;
}

}  // namespace

std::optional<MemoryVerdict> judge_memory(const Cell& now, std::span<const Cell* const> base,
                                          double floor) {
  const auto mine = peaks_of(now);
  std::map<std::string, std::vector<double>> theirs;
  for (const Cell* cell : base) {
    for (const auto& [source, peak] : peaks_of(*cell)) theirs[source].push_back(peak);
  }
  if (mine.empty() || theirs.empty()) return std::nullopt;
  MemoryVerdict out;
  for (const auto& [source, peak] : mine) {
    const auto same = theirs.find(source);
    if (same == theirs.end()) continue;
    out.source = source;
    out.now = peak;
    out.reference = median(same->second);
    out.change = out.now / out.reference - 1;
    const double slack = source == kSampledSource ? kSampledSlack : 0;
    const bool beyond = std::abs(out.now - out.reference) > slack;
    const bool grew = beyond && out.change > floor, fell = beyond && out.change < -floor;
    out.verdict = grew ? Verdict::regression : fell ? Verdict::improvement : Verdict::pass;
    const NoticeCode why = grew   ? NoticeCode::memory_grew
                           : fell ? NoticeCode::memory_fell
                                  : NoticeCode::memory_within_floor;
    out.reason = make_notice(why, 0, percent(std::abs(out.change)), out.now / kMebibyte,
                             out.reference / kMebibyte, source, percent(floor));
    return out;
  }
  out.verdict = Verdict::not_comparable;
  out.reason =
      make_notice(NoticeCode::memory_sources_differ, 0, mine.begin()->first, theirs.begin()->first);
  return out;
}

}  // namespace bertbench
