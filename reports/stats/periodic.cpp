#include "reports/stats/periodic.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr std::size_t kLeastValues = 12;
constexpr std::size_t kLeastSlow = 3;
constexpr double kMostOf = 0.8;
constexpr double kSlowInSigmas = 5;
constexpr double kSlowAtLeast = 0.1;

// Distances between neighbouring slow iterations: a period is one of them. The most frequent ones
// only, so that a noisy log costs no more than a clean one.
std::vector<std::int64_t> candidate_periods(std::span<const std::int64_t> slow) {
  constexpr std::size_t kMostCandidates = 16;
  std::map<std::int64_t, std::size_t> count;
  for (std::size_t i = 1; i < slow.size(); ++i) ++count[slow[i] - slow[i - 1]];
  std::vector<std::pair<std::size_t, std::int64_t>> ranked;
  for (const auto& [distance, times] : count) {
    if (distance >= 2) ranked.emplace_back(times, distance);
  }
  std::ranges::sort(ranked, std::greater<>());
  if (ranked.size() > kMostCandidates) ranked.resize(kMostCandidates);
  std::vector<std::int64_t> out;
  for (const auto& [times, distance] : ranked) out.push_back(distance);
  std::ranges::sort(out, std::greater<>());
  return out;
}

std::int64_t residue(std::int64_t counter, std::int64_t period) {
  return ((counter % period) + period) % period;
}

}  // namespace

std::optional<PeriodicSplit> periodic_work(std::span<const std::int64_t> counters,
                                           std::span<const double> seconds) {
  if (counters.size() != seconds.size() || counters.size() < kLeastValues) return std::nullopt;
  const double typical = median(seconds);
  const double limit =
      typical + std::max(kSlowAtLeast * typical,
                         kSlowInSigmas * kMadToSigma * median_absolute_deviation(seconds, typical));
  std::vector<std::int64_t> slow;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (seconds[i] > limit) slow.push_back(counters[i]);
  }
  if (slow.size() < kLeastSlow) return std::nullopt;

  for (const std::int64_t period : candidate_periods(slow)) {
    std::map<std::int64_t, std::size_t> by_residue;
    for (const std::int64_t counter : slow) ++by_residue[residue(counter, period)];
    const auto best = std::ranges::max_element(
        by_residue, [](const auto& a, const auto& b) { return a.second < b.second; });
    PeriodicSplit out;
    PeriodicWork& work = out.work;
    work.period = period;
    work.phase = best->first;
    std::size_t places = 0;
    double all = 0;
    std::vector<double> at_phase;
    for (std::size_t i = 0; i < counters.size(); ++i) {
      all += seconds[i];
      const bool here = residue(counters[i], period) == work.phase;
      places += here ? 1 : 0;
      if (here && seconds[i] > limit) {
        at_phase.push_back(seconds[i]);
      } else {
        out.seconds_without += seconds[i];
        ++out.left_without;
      }
    }
    const std::size_t count = at_phase.size();
    if (count < kLeastSlow || double(count) < kMostOf * double(places) ||
        double(count) < kMostOf * double(slow.size())) {
      continue;
    }
    work.count = static_cast<std::int64_t>(count);
    work.extra_s = median(at_phase) - typical;
    double extra = 0;
    for (const double s : at_phase) extra += s - typical;
    work.share = extra / all;
    return out;
  }
  return std::nullopt;
}

}  // namespace bertbench
