#include "reports/output/result_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "parsers/core/text.h"
#include "reports/output/value_text.h"

namespace bertbench {
namespace {

constexpr int kTrials = 5;
constexpr double kNoise = 0.05;    // beyond it medians differ by what they measure only by chance
constexpr double kChaos = 0.2;     // beyond it a median says nothing at all
constexpr double kUnsteady = 0.1;  // change points err too: a few trials of many are no finding

struct Seen {
  int least = 0, measured = 0, unmeasured = 0, warned = 0;
  const Cell* noisiest = nullptr;
  int judged = 0, unsteady = 0;  ///< trials whose iteration times were looked at
  int watched = 0, marked = 0;   ///< trials with telemetry
};

void look_at(const Trial& trial, Seen& seen) {
  if (!trial.counts()) return;
  if (trial.steady_state) {
    ++seen.judged;
    const Steadiness state = trial.steady_state->state;
    seen.unsteady += state == Steadiness::no_steady_state || state == Steadiness::slow_down;
  }
  if (!trial.telemetry.is_object()) return;
  ++seen.watched;
  const auto marks = trial.telemetry->find("marks");
  seen.marked += marks != trial.telemetry->end() && marks->is_array() && !marks->empty();
}

Seen look_at(const ResultSet& set) {
  Seen seen;
  for (const Cell& cell : set.cells) {
    seen.warned += !cell.warnings.empty();
    for (const Trial& trial : cell.trials) look_at(trial, seen);
    if (!cell.throughput.median) {
      ++seen.unmeasured;
      continue;
    }
    const int n = cell.throughput.n;
    seen.least = seen.measured++ == 0 ? n : std::min(seen.least, n);
    const auto& cv = cell.throughput.cv;
    if (cv && (seen.noisiest == nullptr || *cv > *seen.noisiest->throughput.cv)) {
      seen.noisiest = &cell;
    }
  }
  return seen;
}

ResultCheck spread(const Seen& seen) {
  if (seen.noisiest == nullptr) return {false, "no spread is known: one trial in a cell", false};
  const double worst = *seen.noisiest->throughput.cv;
  std::string text = "largest spread (cv) " + percent_text(worst);
  if (worst > kNoise) text += ": " + seen.noisiest->key;
  return {worst <= kNoise, std::move(text), worst > kChaos};
}

}  // namespace

std::vector<ResultCheck> result_checks(const ResultSet& set) {
  const Provenance made = provenance(set);
  const Seen seen = look_at(set);
  if (seen.measured == 0) return {{false, "no cell has a number", true}};
  std::vector<ResultCheck> out;
  const auto add = [&](bool good, std::string text) { out.push_back({good, std::move(text)}); };
  const bool all = seen.unmeasured == 0;
  add(all,
      all ? "every cell has a number" : counted(seen.unmeasured, "cell") + " without a number");
  const std::string least = counted(seen.least, "trial");
  add(seen.least >= kTrials,
      seen.least >= kTrials
          ? fmt::format("at least {} in a cell", least)
          : fmt::format("as few as {} in a cell; {} or more tell noise", least, kTrials));
  out.push_back(spread(seen));
  if (seen.judged > 0) {
    const bool steady = seen.unsteady <= kUnsteady * seen.judged;
    add(steady, steady ? "iteration times are steady"
                       : fmt::format("{} of {} changed speed on the way", seen.unsteady,
                                     counted(seen.judged, "trial")));
  }
  if (seen.watched > 0) {
    add(seen.marked == 0, seen.marked == 0
                              ? "no trial shared its machine or was throttled"
                              : fmt::format("{} of {} shared the machine or were throttled",
                                            seen.marked, counted(seen.watched, "trial")));
  }
  add(made.failed == 0, made.failed == 0 ? counted(made.trials, "trial") + ", none failed"
                                         : fmt::format("{} of {} failed", made.failed,
                                                       counted(made.trials, "trial")));
  if (made.retried > 0) add(false, counted(made.retried, "trial") + " retried");
  if (made.estimators.size() > 1) {
    add(false, fmt::format("{} estimators are mixed", made.estimators.size()));
  }
  if (seen.warned > 0) add(false, "warnings on " + counted(seen.warned, "cell"));
  if (made.simulated) add(false, "simulated: no cluster was measured");
  if (made.emulated) add(false, "stand-ins: no statement about GPUs");
  return out;
}

}  // namespace bertbench
