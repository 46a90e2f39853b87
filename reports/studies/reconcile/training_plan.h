// Training plan: the time that follows from steps, accumulation and a steady rate, next to the
// measured one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

/// One phase as planned. Counts are >= 1, the rate > 0.
struct PlanPhase {
  std::string name;
  std::int64_t steps = 0;  ///< optimizer steps
  std::int64_t gradient_accumulation_steps = 1;
  double iterations_per_second = 0;              ///< micro-steps/s of the whole job, steady
  std::optional<std::int64_t> micro_batch_size;  ///< sequences per GPU and micro-step
  std::optional<std::int64_t> world_size;
  std::optional<double> measured_s;  ///< whole time of the phase, if a run of it was clocked
};

/// Nothing is rounded: a factor taken from rounded seconds is off in the seventh digit.
struct PhaseReckoning {
  PlanPhase phase;
  double calculated_s = 0;          ///< steps x accumulation / rate
  std::optional<double> overhead;   ///< measured / calculated - 1
  double expected_s = 0;            ///< measured, else calculated x the plan's overhead factor
  bool corrected = false;           ///< expected_s is such a product
  std::optional<double> sequences;  ///< steps x micro batch x world x accumulation
  std::optional<double> global_batch_size;
  double share_of_time = 0;                  ///< of the expected seconds of all phases
  std::optional<double> share_of_sequences;  ///< where every phase knows its sequences
};

struct PlanReckoning {
  std::vector<PhaseReckoning> phases;
  double calculated_s = 0, expected_s = 0;  ///< of all phases
  /// Measured over calculated, minus 1, of the measured phases together; the correction of others.
  std::optional<double> overhead;
  std::optional<double> overhead_of_measured;  ///< the same difference as a share of the measured
  std::optional<double> sequences;
};

[[nodiscard]] PlanReckoning reckon(const std::vector<PlanPhase>& phases);

/// {"phases": [{"name": "", "steps": 1, "gradient_accumulation_steps": 1,
///   "iterations_per_second": 1.0, "micro_batch_size": 1, "world_size": 1, "measured_s": 1.0}]}
/// The last three may be absent. Comments are allowed, unknown keys are errors.
[[nodiscard]] Result<std::vector<PlanPhase>> plan_from_json(std::string_view text,
                                                            const std::string& where);
[[nodiscard]] Result<std::vector<PlanPhase>> read_plan(const std::string& path);

}  // namespace bertbench
