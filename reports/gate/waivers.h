// Waivers of the gate (`check --waive`): losses that are known, and accepted until a day.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "parsers/core/error.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct GateOptions;
struct GateReport;

struct Waiver {
  std::string cell;  ///< its whole key, as the verdicts print it
  WorkKind kind = WorkKind::training;
  std::string verdict = "speed";  ///< what is waived: speed, memory, loss, outcomes, part of a step
  double limit = 0;               ///< the largest loss that passes, a share
  std::string reason;
  std::string expiry;  ///< the last day on which it holds, "YYYY-MM-DD" in UTC
};

enum class WaiverState {
  waived,      ///< the loss is within the limit
  not_enough,  ///< the loss exceeds the limit, or is not known
  expired,     ///< whatever the loss
  not_needed   ///< what it is of did not fail
};
[[nodiscard]] std::string_view name(WaiverState state);

struct JudgedWaiver {
  Waiver waiver;
  WaiverState state = WaiverState::not_needed;
};

/// A file of bertbench.waivers/1 (configs/schema/waivers.schema.json). Errors: one that cannot be
/// read, an unknown key, a waiver without one of its four members, two waivers of one thing.
[[nodiscard]] Result<std::vector<Waiver>> read_waivers(const std::string& path);

/// Judges the waivers on the day `today` ("YYYY-MM-DD"): what each became stands in its cell, with
/// a reason, and the exit status is that of what is left. Verdicts stay as they are. A waiver lets
/// pass a regression, or a loss that may be the machine's; not a missing cell, one that cannot be
/// compared, a lost number, a loss that is not finite, or too few trials: no loss is known there.
/// Notices name waivers that match no cell, and expired ones of cells that pass.
void apply_waivers(GateReport& report, std::span<const Waiver> waivers, const std::string& today,
                   const GateOptions& options);

}  // namespace bertbench
