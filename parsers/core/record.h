// Record: one iteration of the job as the parser hands it on.
#pragma once

#include <cstdint>
#include <limits>

namespace bertbench {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Redraws of one counter value, duplicate lines and the lines of all ranks are merged into one
/// record. A value that the log does not give is NaN (kUnknown).
struct Record {
  std::int64_t step = 0;        ///< the log's own counter after this record
  std::int64_t iterations = 1;  ///< iterations since the record before (log_every); see RunLog unit
  double seconds = kUnknown;    ///< time of those iterations together (ranks: median), monotonic
  double time_s = kUnknown;     ///< clock at the end of the record, seconds since the run's first
                                ///< stamp (time stamps or a bar's elapsed field)
  double first_time_s = kUnknown;   ///< clock at the first redraw of this counter value
  double printed_rate = kUnknown;   ///< last rate printed for this step, in RunLog::rate_unit
  double printed_first = kUnknown;  ///< first redraw's rate, same unit
  double loss = kUnknown;
  double rank_spread = kUnknown;  ///< (max - min) / median of the ranks' step times
  std::int64_t line = 0;          ///< 1-based line of the log
  std::int64_t merged = 1;  ///< records of the log in this one (above 1 only beyond 2^20 records)
};

}  // namespace bertbench
