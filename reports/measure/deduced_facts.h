// Facts that follow from other facts with certainty.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parsers/core/facts.h"
#include "parsers/core/notice.h"
#include "parsers/core/run_log.h"

namespace bertbench {

/// Fills what follows by arithmetic: one GPU in all is one node of one; nodes, GPUs per node and
/// world size from any two; micro batch, accumulation, world size and global batch from any three.
/// Nothing follows when a division leaves a rest. A global batch that contradicts the product of
/// the other three is a notice.
[[nodiscard]] Facts deduce_facts(Facts facts, std::vector<Notice>& notices);

/// Sequences of the whole job per iteration of the log's counter. Where the log does not state what
/// it counts, only an accumulation of 1 makes both meanings equal; else unknown. A counter of
/// sequences is that of one process: one of each where the world size is known, else of one alone.
[[nodiscard]] std::optional<std::int64_t> sequences_per_iteration(const Facts& facts,
                                                                  IterationUnit unit);

}  // namespace bertbench
