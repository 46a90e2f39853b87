// Rank logs: one run whose ranks wrote a log each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "parsers/core/run_log.h"

namespace bertbench {

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
