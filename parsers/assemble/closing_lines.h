// ClosingLines: what PyTorch trainers and their scripts state at the end about a whole run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parsers/assemble/trainer_checks.h"
#include "parsers/core/line.h"
#include "parsers/core/notice.h"
#include "parsers/core/run_log.h"

namespace bertbench {

/// What is stated of a run as a whole.
struct Closing {
  std::optional<Stated> summary{};
  Totals totals{};
  std::optional<std::int64_t> batch{};  ///< sequences of a step, of all GPUs
  std::vector<Notice> notices{};
  std::int64_t line = 0;  ///< of the newest statement
  bool ended = false;
};

/// NVIDIA's scripts ("training throughput phase1: 2723.84 sequences/second", "Total time taken"),
/// DLLogger's summary ("training_sequences_per_second : 54.3"), the Hugging Face Trainer's closing
/// dict and table, Colossal-AI's evaluator after its bar, and the shell's `time`.
class ClosingLines {
 public:
  /// True when the line is such a statement.
  bool see(const Line& line);
  /// The statement came from the Hugging Face Trainer.
  [[nodiscard]] bool of_trainer() const { return trainer_; }
  /// A statement was seen after `line`, that of a run's last record: a further record belongs to
  /// another run.
  [[nodiscard]] bool after(std::int64_t line) const { return stated_.ended && stated_.line > line; }
  /// The line states another runtime of the Trainer than the one seen: not another process of the
  /// same run, but another run
  /// (quoted/huggingface.tells_trainings_that_state_their_runtimes_one_after_the_other).
  [[nodiscard]] bool unlike(const Line& line) const;
  /// What was seen; starts afresh.
  [[nodiscard]] Closing take();

 private:
  bool read_trainer(const Line& line);
  bool read_evaluator(const Line& line);
  void call_steps(std::int64_t line);  ///< the summary counts steps

  Closing stated_;
  std::optional<double> shell_s_;
  bool trainer_ = false;
  bool table_ = false;      ///< the summary is a table's, whose steps per second did not follow yet
  std::int64_t alike_ = 0;  ///< further statements of nearly the same runtime
  TrainerChecks checks_;
};

/// The loss on a line of its own: of NVIDIA's run_squad.py, DLLogger and the Hugging Face Trainer.
[[nodiscard]] std::optional<double> loss_of_line(const Line& line);

}  // namespace bertbench
