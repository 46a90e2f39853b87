// StepLines: "Step:7032 Average Loss = 1.457 Step Loss = 1.617 LR 0.006" of NVIDIA's BERT and
// "bing_bert_progress: step=5, loss=7.63, lr=7.9e-08, sample_count=80" of DeepSpeed's.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/core/facts.h"
#include "parsers/core/line.h"

namespace bertbench {

class RunDraft;

/// Both scripts print such a line in each optimizer step (or every log_freq of them), while the bar
/// counts micro-steps: the records between two lines become one. The line stands before the bar
/// moves, and the loop is left within the last step: the bar never shows that one.
class StepLines {
 public:
  /// True when the line is one; `run` is the one whose bar moved last, if any.
  bool see(const Line& line, RunDraft* run);
  /// The end of the run: its optimizer steps, and the accumulation where the counters show it.
  void conclude(RunDraft& run, Facts& facts) const;
  void start_over();

 private:
  struct Said {
    std::int64_t step = 0;
    std::optional<double> loss;  ///< absent where the line was cut by the end of input
  };
  std::optional<Said> read(const Line& line);
  void see_samples(std::int64_t step, std::int64_t samples);
  [[nodiscard]] std::optional<std::int64_t> per_step() const;

  std::int64_t joined_up_to_ = 0;     ///< counter at the last such line
  const RunDraft* joined_ = nullptr;  ///< whose counter that is
  std::int64_t last_step_ = 0, first_step_ = 0, last_interval_ = 0;
  std::int64_t first_marked_step_ = 0, first_marked_counter_ = 0;  ///< at the first such line
  std::int64_t last_marked_step_ = 0;                              ///< at the newest one
  std::int64_t samples_ = 0;                                       ///< newest sample_count
  std::int64_t batch_ = 0;  ///< sequences a step, 0 = not known, -1 = it changed
  bool early_nan_ = false;  ///< a loss was not finite before any redraw printed the counter
};

}  // namespace bertbench
