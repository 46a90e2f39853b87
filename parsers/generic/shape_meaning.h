// ShapeMeaning: what the numbers of a shape mean, by how they go on from line to line: a counter
// grows, an elapsed time grows with it, the time of a step does not.
#pragma once

#include <cstddef>
#include <optional>

#include "parsers/core/run_log.h"
#include "parsers/generic/line_shapes.h"

namespace bertbench {

/// Which numbers give time and rate, as places in ShapeLine::key. They are the fields of a format
/// file of the same names.
struct ShapeTimes {
  std::optional<std::size_t> clock, elapsed, seconds, seconds_per_iteration, mean_so_far, rate;
  [[nodiscard]] bool any() const {
    return clock || elapsed || seconds || seconds_per_iteration || mean_so_far || rate;
  }
};

/// Places in ShapeLine::key.
struct ShapeMeaning {
  std::size_t step = 0;
  std::optional<std::size_t> epoch;
  std::optional<std::size_t> rank;  ///< where several processes print their lines
  bool step_is_epoch = false;       ///< nothing finer is counted
  bool total_is_of_epoch = false;   ///< M of "N/M" is the iterations of an epoch, not of the run
  bool wraps = false;        ///< it begins again with each epoch, which the line does not name
  bool of_one_line = false;  ///< no process prints another line like it
  ShapeTimes times;
  bool day_first = false;          ///< in dates with slashes
  bool time_is_ambiguous = false;  ///< a time of one step or of all since the line before
  double outlasts_clock = 0;       ///< times the clock's time, of one that was left out
};

/// Nothing where no number of its lines counts, or a process has a single line that does not name
/// what it counts and the rate or time of that.
[[nodiscard]] std::optional<ShapeMeaning> meaning_of(const LineShape& shape);

/// The times of a shape without a counter, whose lines follow those of one with a counter.
/// `of_each`: one iteration lies between two of those, so that a time which does not grow is its
/// `seconds`.
[[nodiscard]] ShapeTimes companion_times(const LineShape& shape, bool of_each);

}  // namespace bertbench
