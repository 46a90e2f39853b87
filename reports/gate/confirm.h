// What a second measurement of flagged cells makes of the first verdicts. Pure.
#pragma once

#include <string>

#include "reports/gate/verdicts.h"

namespace bertbench {

/// As confirm() of verdicts.h, of pairs: `rerun` holds both variants of each flagged cell, measured
/// in turn once more. The flagged cells alone are judged against `base` as at first, with Holm over
/// them.
[[nodiscard]] GateReport confirm_paired(GateReport first, const ResultSet& rerun,
                                        const std::string& base, const GateOptions& options);

/// The first verdicts after a rerun of the flagged cells was judged to be `second`.
[[nodiscard]] GateReport confirmed_by(GateReport first, const GateReport& second,
                                      const GateOptions& options);

}  // namespace bertbench
