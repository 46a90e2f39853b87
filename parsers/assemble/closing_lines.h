// ClosingLines: what PyTorch trainers and their scripts state at the end about a whole run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parsers/assemble/trainer_checks.h"
#include "parsers/core/line.h"
#include "parsers/core/notice.h"
#include "parsers/core/run_log.h"

namespace bertbench {

class RunDraft;

/// NVIDIA's scripts ("training throughput phase1: 2723.84 sequences/second", "Total time taken"),
/// DLLogger's summary ("training_sequences_per_second : 54.3"), the Hugging Face Trainer's closing
/// dict and table, Colossal-AI's evaluator after its bar, and the shell's `time`.
class ClosingLines {
 public:
  /// True when the line is such a statement.
  bool see(const Line& line);
  /// The statement came from the Hugging Face Trainer.
  [[nodiscard]] bool of_trainer() const { return trainer_; }
  /// A statement was seen after the last record of `run`: a further record belongs to another run.
  [[nodiscard]] bool said_for(const RunDraft& run) const;
  /// The line states another runtime of the Trainer than the one seen: not another process of the
  /// same run, but another run
  /// (quoted/huggingface.tells_trainings_that_state_their_runtimes_one_after_the_other).
  [[nodiscard]] bool unlike(const Line& line) const;
  /// Moves what was seen into the run and starts afresh.
  void give_to(RunDraft& run);

 private:
  bool read_trainer(const Line& line);
  bool read_evaluator(const Line& line);
  void call_steps(std::int64_t line);  ///< the summary counts steps

  std::optional<Stated> summary_;
  std::optional<double> training_s_, wall_s_, shell_s_;
  std::optional<std::int64_t> batch_;  ///< sequences of a step, of all GPUs
  std::vector<Notice> notices_;
  std::int64_t line_ = 0;
  bool ended_ = false, trainer_ = false;
  bool table_ = false;      ///< the summary is a table's, whose steps per second did not follow yet
  std::int64_t alike_ = 0;  ///< further statements of nearly the same runtime
  TrainerChecks checks_;
};

/// The loss on a line of its own: of NVIDIA's run_squad.py, DLLogger and the Hugging Face Trainer.
[[nodiscard]] std::optional<double> loss_of_line(const Line& line);

}  // namespace bertbench
