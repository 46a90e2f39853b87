// ShapeMeaning: what the numbers of a shape mean, by how they go on from line to line: a counter
// grows, an elapsed time grows with it, the time of a step does not.
#pragma once

#include <cstddef>
#include <optional>

#include "parsers/core/run_log.h"
#include "parsers/generic/line_shapes.h"

namespace bertbench {

/// Places in ShapeLine::key.
struct ShapeMeaning {
  std::size_t step = 0;
  std::optional<std::size_t> epoch;
  bool step_is_epoch = false;      ///< nothing finer is counted
  bool total_is_of_epoch = false;  ///< M of "N/M" is the iterations of an epoch, not of the run
  bool wraps = false;  ///< it begins again with each epoch, which the line does not name
  std::optional<std::size_t> clock, elapsed, seconds, seconds_per_iteration, rate;
  bool day_first = false;
  bool time_is_ambiguous = false;  ///< a time of one step or of all since the line before
  [[nodiscard]] bool timed() const {
    return clock || elapsed || seconds || seconds_per_iteration || rate;
  }
  [[nodiscard]] bool uses(std::size_t i) const {
    return i == step || i == epoch || i == clock || i == elapsed || i == seconds ||
           i == seconds_per_iteration || i == rate;
  }
};

/// Nothing where no number of the shape counts.
[[nodiscard]] std::optional<ShapeMeaning> meaning_of(const LineShape& shape);

/// A shape without a counter whose lines follow those of one with a counter. What a duration on it
/// is: `elapsed` or `seconds`; nothing where its lines do not show it. `of_each` = the iterations
/// between two lines are one.
struct CompanionMeaning {
  std::optional<std::size_t> elapsed, seconds, seconds_per_iteration, rate;
  [[nodiscard]] bool timed() const { return elapsed || seconds || seconds_per_iteration || rate; }
};
[[nodiscard]] CompanionMeaning companion_of(const LineShape& shape, bool of_each);

}  // namespace bertbench
