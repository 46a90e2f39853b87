// Peak memory of a cell held against its baseline. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "parsers/core/notice.h"
#include "reports/gate/verdict.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// Default of GateOptions::memory_floor. The peak of one program repeats to the byte where the
/// trainer states it, and to 1 or 2 % where processes are watched from outside.
inline constexpr double kMemoryFloor = 0.05;

struct MemoryVerdict {
  /// pass, regression, improvement; not_comparable where each side has its own source, which
  /// fails no gate
  Verdict verdict = Verdict::pass;
  std::string source;             ///< of both sides, as MemoryRecord::source
  double now = 0, reference = 0;  ///< bytes on one GPU (of a host: all processes); 0 = no source
  double change = 0;              ///< now / reference - 1; positive = more memory
  Notice reason;
};

/// Median of the trials' peaks against the median of the same in each cell of `base` (one a run).
/// Only peaks of one source are compared: what a trainer states and what a GPU shows differ by the
/// caches. Absent where one side has no peaks. Trials that ran out of memory do not count.
[[nodiscard]] std::optional<MemoryVerdict> judge_memory(const Cell& now,
                                                        std::span<const Cell* const> base,
                                                        double floor);

}  // namespace bertbench
