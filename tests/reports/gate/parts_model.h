// The parts of a simulated trial's step.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "parsers/core/step_parts.h"
#include "reports/model/result_set.h"
#include "reports/stats/normals.h"

namespace bertbench {

/// Shares of a step as on a small GPU job; each part varies by itself on top of what the trial's
/// whole step does. Draws numbers of its own: the rates of trials do not depend on it.
class PartsModel {
 public:
  PartsModel(double cv, double optimizer_longer, std::uint64_t seed)
      : cv_(cv), optimizer_longer_(optimizer_longer), normal_(seed + 7919) {}

  /// Adds the parts to a trial whose rate is known; `longer`: its optimizer takes longer, and the
  /// step with it.
  void add(Trial& trial, bool longer) {
    if (cv_ <= 0) return;
    constexpr std::array<double, kStepParts> kShares{0.30, 0.55, 0.03, 0.10, 0.02};
    const double step = 1 / *trial.sequences_per_second;
    for (std::size_t i = 0; i < kStepParts; ++i) {
      double seconds = kShares[i] * step * std::exp(cv_ * normal_());
      if (longer && static_cast<StepPart>(i) == StepPart::optimizer) {
        trial.sequences_per_second = 1 / (step + optimizer_longer_ * kShares[i] * step);
        seconds *= 1 + optimizer_longer_;
      }
      trial.parts[std::string(kStepPartNames[i])] = {seconds};
    }
  }

 private:
  double cv_, optimizer_longer_;
  Normals normal_;
};

}  // namespace bertbench
