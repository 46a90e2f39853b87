// Record: one iteration of the job as the parser hands it on.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace bertbench {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Seconds since a progress bar was created at the moment its counter reached a value, as the rates
/// that it had shown until then imply: one reading for each way in which bars smooth what they show
/// (parsers/formats/tqdm/tqdm_bar.h has the formulas and this order). Single precision, as that is
/// 0.01 s after a day.
enum BarReading : std::size_t { two_means, mean_of_times, newest_interval, overall_mean };
inline constexpr std::size_t kBarReadings = 4;
using BarSeconds = std::array<float, kBarReadings>;
inline constexpr float kUnknownSeconds = std::numeric_limits<float>::quiet_NaN();
inline constexpr BarSeconds kNoBarSeconds{kUnknownSeconds, kUnknownSeconds, kUnknownSeconds,
                                          kUnknownSeconds};

/// A counter value and where in the log it was printed.
struct CounterMark {
  std::int64_t step = 0;
  std::int64_t end_byte = -1;  ///< as Record's
};

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
  double rank_spread = kUnknown;     ///< (max - min) / median of the ranks' step times
  BarSeconds bar_s = kNoBarSeconds;  ///< when this counter value was reached, by a bar's rates
  std::int64_t line = 0;             ///< 1-based line of the log
  std::int64_t end_byte = -1;        ///< offset in the log after that line's text; -1 = unknown
  std::int64_t merged = 1;  ///< records of the log in this one (above 1 only beyond 2^18 records)
};

}  // namespace bertbench
