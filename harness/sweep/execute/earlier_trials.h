// What earlier starts left of each trial in the run folder. A trial is done when its log shows it:
// a log that is not as it was when this program measured it is read again, on all cores, as there
// may be ten thousand of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/execute/measure_attempt.h"
#include "harness/sweep/execute/open_sweep.h"

namespace bertbench {

struct EarlierTrial {
  PlannedTrial trial;
  bool wanted = false;   ///< by this start, which launches it unless it is settled
  bool settled = false;  ///< needs no further launch
  bool command_changed = false;
  int next_attempt = 1;
  std::vector<Notice> cut_short{};    ///< of the attempt before that, which the sweep ended
  double seconds = 0;                 ///< the settled attempt took
  std::optional<BlockPlace> block{};  ///< of the settled attempt, or of the one that a job runs
  std::string nodes{};                ///< that it ran on, where a launcher records them
  std::string job{};                  ///< of a queue, that runs the attempt since an earlier start
  std::optional<MeasuredAttempt> measured{};
};

/// A pair is whole when its halves ran in one start of the sweep: a half of which the other is
/// still to be launched is launched again with it, and what was measured of it is left out.
///
/// The trials of this start, then those of which earlier starts left something: --only leaves cells
/// out of this start, not out of the result.
Result<std::vector<EarlierTrial>> review_earlier_trials(const OpenSweep& sweep);

}  // namespace bertbench
