// Timers of a step's parts as Megatron-LM and DeepSpeed's wall clock breakdown print them.
#pragma once

#include <optional>
#include <string_view>

#include "parsers/core/line.h"
#include "parsers/core/step_parts.h"

namespace bertbench {

/// Before the timers of one line: "time (ms) | forward-compute: 306.62 | optimizer: 94.69 | ...".
inline constexpr std::string_view kPartTimers = "time (ms) | ";

/// Which part a timer is of; none: of no part, or inside another timer.
[[nodiscard]] std::optional<StepPart> part_of_timer(std::string_view name);

/// The parts on a line with kPartTimers, of one optimizer step. DeepSpeed's timers of micro-steps
/// (fwd_microstep) are left out: the step's follow. So are those of its pipeline engine, which are
/// sums over a number of steps that the line does not state.
[[nodiscard]] PartTimes part_times(const Line& line);

}  // namespace bertbench
