// StepLines: "Step:7032 Average Loss = 1.457 Step Loss = 1.617 LR 0.006" of NVIDIA's BERT.
#pragma once

#include <cstdint>

#include "parsers/format.h"

namespace bertbench {

class RunDraft;

/// NVIDIA prints such a line after each optimizer step (or every log_freq of them), while the bar
/// counts micro-steps: the records between two lines become one.
class StepLines {
 public:
  /// True when the line is one; `run` is the one whose bar moved last, if any.
  bool see(const Line& line, RunDraft* run);
  /// The end of the run: its optimizer steps, and the accumulation where the counters tell it.
  void conclude(RunDraft& run, Facts& facts) const;
  void start_over();

 private:
  std::int64_t joined_up_to_ = 0;     ///< counter at the last such line
  const RunDraft* joined_ = nullptr;  ///< whose counter that is
  std::int64_t last_step_ = 0, first_step_ = 0, last_interval_ = 0;
  std::int64_t first_marked_step_ = 0, first_marked_counter_ = 0;  ///< at the first such line
  bool early_nan_ = false;  ///< a loss was not finite before any redraw told the counter
};

}  // namespace bertbench
