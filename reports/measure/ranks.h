// What logs show of the ranks of a run: a RunLog's rank_times become a trial's `ranks`, and logs
// that the ranks wrote one by one become one RunLog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parsers/core/run_log.h"
#include "reports/model/result_set.h"

namespace bertbench {

// Which ranks stay slow, by the time that a step takes each of them before it waits for the others.

/// A stretch counts as slow when the rank's own time is more than this above the median of the
/// others': less is what ranks with equal work on equal machines differ by anyway (docs/ranks.md
/// has measured ones).
inline constexpr double kSlowFloor = 0.10;
/// Chance that a run in which every rank is above the others' median as often as below it, stretch
/// by stretch and by chance, names a rank. Half of the rate that 2 false alarms in 200 runs would
/// be.
inline constexpr double kStragglerAlpha = 0.005;

/// Of one rank, over the stretches in which it and another one are known.
struct RankSpeed {
  std::size_t windows = 0;  ///< these stretches; 0: nothing else is known
  double own_s = 0;         ///< median over them of the rank's own time of a step, seconds
  double ratio = 0;         ///< median over them of its time over the median of the others'
  std::size_t slow = 0;     ///< of them more than kSlowFloor above
  std::size_t slowest = 0;  ///< of them in which no rank took longer
  /// The slow ones are more than chance gives: P(Bin(windows, 1/2) >= slow) x ranks <=
  /// kStragglerAlpha, the exact sign test after Bonferroni over the ranks.
  bool straggler = false;
};

/// `own[r][w]`: seconds of a step of rank r in stretch w; NaN where it is unknown. All rows are of
/// equal length. Neighbouring stretches are joined (their mean) down to fewest_windows(ranks) and a
/// few more: what disturbs a rank for a while then fills few of them.
[[nodiscard]] std::vector<RankSpeed> rank_speeds(std::span<const std::vector<double>> own);

/// P(Bin(n, 1/2) >= k).
[[nodiscard]] double half_binomial_tail(std::size_t n, std::size_t k);

/// The fewest stretches in which one of so many ranks can be named: all of them slow.
[[nodiscard]] std::size_t fewest_windows(std::size_t ranks);

/// Judged over the stretches inside the steps of `window`, where it names some, else over all but
/// the first. Nothing where fewer than two ranks state their own times.
[[nodiscard]] std::optional<RankRecord> rank_record(const RankTimes& times,
                                                    const WindowUsed& window);

/// The record, and a notice for each rank that stays slow; or the notice that ranks share their
/// step times.
void describe_ranks(const RunLog& log, Trial& trial);

// One run whose ranks wrote a log each.

/// Joins the logs of a job's ranks as they are read, so that only one has all its records in
/// memory. The runs are those of the log with most records of training. From the others come:
/// step times (a record becomes the median over the ranks, with their spread), the ranks' own
/// times, facts that are unknown otherwise, a closing rate, the peak of memory, a NaN, and the
/// outcome where another rank shows how the job ended.
class RankLogJoiner {
 public:
  void add(std::int64_t rank, std::vector<RunLog> runs);
  /// No log was added.
  [[nodiscard]] bool empty() const { return ranks_.empty(); }
  /// The runs of all; the joiner is empty afterwards.
  [[nodiscard]] std::vector<RunLog> take();

 private:
  struct StepTime {
    std::int64_t step = 0, iterations = 1;
    float seconds = 0;
  };
  /// A training of another rank: its records are its step times alone.
  struct Other {
    std::size_t order = 0;  ///< among the trainings of its log
    RunLog run;
    std::vector<StepTime> steps;
  };

  void keep(std::vector<RunLog> runs);
  static void join_steps(RunLog& run, const std::vector<const Other*>& others);
  static void join_outcome(RunLog& run, const std::vector<const Other*>& others);

  std::vector<std::int64_t> ranks_;  ///< whose logs were added
  std::vector<RunLog> first_;        ///< the log with most records
  std::vector<Other> others_;
  std::size_t steps_kept_ = 0;  ///< of all others
};

}  // namespace bertbench
