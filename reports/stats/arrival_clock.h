// The counter of a log over the times at which its lines arrived, by the clock of whoever watched.
#pragma once

#include <optional>

#include "parsers/core/run_log.h"
#include "reports/stats/window.h"

namespace bertbench {

struct ArrivalRate {
  double iterations = 0;   ///< counter difference between marks within the window
  double seconds = 0;      ///< between their arrivals; 0 where fewer than two marks are there
  double resolution = 0;   ///< bound of the relative error that the marks' times allow
  double error = 0;        ///< expected relative error, one standard deviation
  double burst_share = 0;  ///< of the window's records with an arrival, those that came in bursts
  [[nodiscard]] bool in_bursts() const { return burst_share > 0.5; }
};

/// A mark is a look at the log together with the newest record that it found. Where that record's
/// line was the last thing written, its time is that of the file's last change, to the step of the
/// file system's clock; where that is unknown, it lies between this look and the one before. Where
/// more followed the line, it came up to one record earlier (or one look, if that is less). The
/// marks are the first and the last within the window, whose beginning is the record before it.
/// What the window holds beyond them is taken at the pace between them; its error is its time by
/// the variation of the pace from mark to mark, or uniform over it where there are fewer than five.
///
/// Records came in a burst when a look found four of them or more and the look before none, as a
/// program that prints so often leaves none out, or when the log grew by whole blocks of 4096 bytes
/// with two of them or more: a buffer was emptied. Buffers that are emptied more often than
/// somebody looks are not found; they do no harm, as the marks' lines were printed when they were
/// written.
///
/// Nothing where nobody watched or no record of the window has an arrival.
[[nodiscard]] std::optional<ArrivalRate> counter_over_arrivals(const RunLog& log,
                                                               const Window& window);

}  // namespace bertbench
