// At the end of a log: what its format found, with what the rules found around it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parsers/core/run_log.h"

namespace bertbench {

class FactRules;
class MarkRules;
class OutcomeRules;
class RunBuilder;

/// What is fed with lines of a log whatever its format.
struct LineRules {
  const FactRules& facts;
  const OutcomeRules& outcomes;
  const MarkRules& marks;
  std::int64_t newest_line = 0;  ///< of those that hold a literal of anyone
};

/// The runs in order of their first lines, each with facts, outcome and marks. `others`: formats,
/// separated by commas, that found training records in the log as well. The builder is empty
/// afterwards.
[[nodiscard]] std::vector<RunLog> close_runs(RunBuilder& builder, const LineRules& rules,
                                             const std::string& others);

}  // namespace bertbench
