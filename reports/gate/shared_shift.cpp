#include "reports/gate/shared_shift.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "reports/model/json_put.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

/// Log ratio beyond which two probes are not of one program on one machine: no load of a neighbour
/// that leaves a measurement usable takes two thirds.
constexpr double kOtherProbe = 1.1;

constexpr const char* kKinds[] = {"gflops", "copy_gb_s"};

/// The median reading of one kind over a run's trials.
std::optional<double> speed_of(const ResultSet& run, const char* kind) {
  std::vector<double> readings;
  for (const Cell& cell : run.cells) {
    for (const Trial& trial : cell.trials) {
      if (!trial.telemetry->is_object() || !trial.telemetry->contains("probe")) continue;
      for (const auto& reading : trial.telemetry->at("probe")) {
        const auto speed = number_at(reading, kind);
        if (speed && *speed > 0 && std::isfinite(*speed)) readings.push_back(*speed);
      }
    }
  }
  return readings.empty() ? std::nullopt : std::optional(median(readings));
}

}  // namespace

double SharedShift::of_machine() const {
  return probe ? std::min(0.0, std::max(*probe, shift)) : 0;
}

std::optional<SharedShift> shared_shift(std::span<const double> changes, const ResultSet& now,
                                        std::span<const ResultSet* const> runs) {
  if (changes.size() < kCellsForSharedShift) return std::nullopt;
  SharedShift out;
  out.cells = changes.size();
  out.shift = median(changes);
  for (const char* kind : kKinds) {
    const auto speed = speed_of(now, kind);
    std::vector<double> before;
    for (const ResultSet* run : runs) {
      if (const auto one = speed_of(*run, kind)) before.push_back(*one);
    }
    if (!speed || before.empty()) continue;
    const double ratio = std::log(*speed / median(before));
    if (std::abs(ratio) > kOtherProbe) continue;
    if (!out.probe || std::abs(ratio - out.shift) < std::abs(*out.probe - out.shift)) {
      out.probe = ratio;
    }
  }
  return out;
}

std::string probe_words(const SharedShift& shared) {
  if (!shared.probe) return "was not probed";
  return fmt::format("changed by {:+.1f} % by its probe", 100 * std::expm1(*shared.probe));
}

}  // namespace bertbench
