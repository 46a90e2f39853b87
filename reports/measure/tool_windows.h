// The windows in which other harnesses take the step time of a training's log, so that their number
// can be repeated next to ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/record.h"

namespace bertbench {

/// Names that window_of() knows, in the order of help texts.
[[nodiscard]] std::vector<std::string_view> window_tools();

struct ToolWindow {
  std::int64_t values = 0;           ///< lines of the log that the tool takes
  std::int64_t first = 0, last = 0;  ///< counters of the first and the last of them
  double seconds = 0;                ///< per iteration, as the tool's mean makes it
  double deviation = 0;              ///< standard deviation of the values, seconds per iteration
};

/// What `tool` takes of these records, all of the run. Each line is one value, however many
/// iterations it covers, as the tools do it; no neighbours were merged to stay in bounds
/// (Record::merged). Nothing where the window holds no time.
[[nodiscard]] std::optional<ToolWindow> window_of(std::string_view tool,
                                                  std::span<const Record> records);

}  // namespace bertbench
