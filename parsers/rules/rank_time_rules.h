// RankTimeRules: the lines by which the ranks of a job state what a step takes each of them without
// waiting for the others. bert_train prints them; any trainer may.
//
//   rank_time rank=3 node=1:gpu07 steps=11:20 own_s=0.01234
//
// `node` may be missing. The steps of a rank increase from line to line; steps that go back begin
// another run. of() divides the lines of a run that was resumed in the same log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/rank_times.h"

namespace bertbench {

class RankTimeRules {
 public:
  /// On every such line.
  static constexpr std::string_view kAnchor = "rank_time rank=";

  void see(const Line& line);
  /// The stretches that the lines [begin_line, end_line) are the first to state: of the run that
  /// has most of them there, the newest of equals.
  [[nodiscard]] RankTimes of(std::int64_t begin_line, std::int64_t end_line) const;

 private:
  struct Run {
    RankTimes times;
    std::vector<std::int64_t> lines;  ///< of each column, the first that reached it; these go up
    std::int64_t width = 0;           ///< steps of a column that `lines` goes by
    void place(std::int64_t last_step, std::int64_t line);
  };
  static constexpr std::size_t kMostRuns = 256;  ///< bounded: a log may go back with each line
  std::vector<Run> runs_;
  std::size_t rows_ = 0;  ///< ranks of all runs: RankTimes::kMostRanks at most
  bool full_ = false;     ///< a run found no place
};

}  // namespace bertbench
