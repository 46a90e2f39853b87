// BarTimes: the moments of a tqdm bar, read back from the smoothed rates that it shows.
#pragma once

#include <cstdint>

#include "parsers/core/record.h"

namespace bertbench {

/// A bar shows its elapsed time in whole seconds and next to it a rate of three digits. At each
/// update that it draws, dn iterations and dt seconds after the one before, tqdm (std.py) computes
///   two_means        rate = E(dn) / E(dt), E the exponential mean of weight 0.3: releases from
///                    4.58 on (the correction for the first calls is the same above and below)
///   mean_of_times    1 / rate = E(dt / dn), which begins with the first value: releases before
///   newest_interval  rate = dn / dt: smoothing=1, as bing_bert has it
///   overall_mean     rate = n / elapsed: smoothing=0, as Lightning has it
/// Each can be solved for dt, as the counters give dn: the smoothing is undone. What the rates'
/// rounding does to single intervals cancels in their sum, which follows every redraw to some
/// thousandths of a step. Which of the four a bar is shows in its own clock: the moments must lie
/// within the seconds that it shows (reports/measure/estimators.h).
///
/// Redraws that are no update (set_postfix, a line written over the bar) repeat the rate. So does
/// an update whose rate did not change, which comes no sooner than tqdm's mininterval of 0.1 s
/// after the one before: what comes sooner is placed by that rate and changes nothing else.
class BarTimes {
 public:
  /// Moments of the redraw at counter `done`; `rate` in iterations/s or unknown, `elapsed_s` as
  /// shown. A bar that was not seen at its beginning starts at the second that it shows first.
  BarSeconds see(std::int64_t done, double rate, double elapsed_s);
  /// The bar was drawn at `done`, where it starts, without a rate.
  void begin(std::int64_t done);

 private:
  [[nodiscard]] BarSeconds at(std::int64_t done, double ahead_s) const;

  bool begun_ = false;
  bool headless_ = false;       ///< what the smoothing held at the first redraw is not known
  std::int64_t done_ = 0;       ///< at the newest update
  double rate_ = kUnknown;      ///< that it showed
  double iterations_ = 0;       ///< E(dn), not corrected for the first calls
  double seconds_ = 0;          ///< E(dt), likewise
  double interval_ = kUnknown;  ///< E(dt / dn)
  double two_means_s_ = 0, mean_of_times_s_ = 0, newest_interval_s_ = 0;
};

}  // namespace bertbench
