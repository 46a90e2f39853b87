// ClosingLines: what PyTorch trainers and their scripts state at the end about a whole run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/notice.h"
#include "parsers/core/run_log.h"

namespace bertbench {

/// What the Hugging Face Trainer prints next to its closing rate, and what contradicts that rate:
/// {'eval_loss': 0.7, 'eval_runtime': 29.78, ..., 'epoch': 3.0} on the console, and the members of
/// trainer_state.json and all_results.json one by one. train_runtime holds the evaluations between
/// its steps, and so does the rate that is made from it.
class TrainerChecks {
 public:
  /// What an evaluation took, where the line is its dict; 0 where it is not within a training: one
  /// from before the first step has no epoch.
  [[nodiscard]] static std::optional<double> seconds_of_evaluation(const Line& line);
  /// True when the line is the dict of an evaluation.
  bool read_dict(const Line& line);
  /// True when the line, which begins with a key, is a member that is kept here.
  bool read_member(const Line& line);
  /// The runtime was stated: evaluations from here on are not within it. In files without a history
  /// (`timely` false) none is known to be.
  void end_session(bool timely);
  /// The evaluations of the session that ended took longer than the runtime it stated: some of them
  /// belong to an earlier one, whose runtime the history does not hold
  /// (quoted/trainer_evaluations.takes_no_rate_whose_runtime_is_too_short_for_the_evaluations).
  [[nodiscard]] bool outlast(double runtime) const;
  [[nodiscard]] double evaluated_s() const { return evaluated_s_; }
  /// Of all GPUs, where the closing rates show a whole number of them: they are the planned samples
  /// and the planned steps over one runtime. A last batch that is not full, and rates that are
  /// rounded too much, show none.
  [[nodiscard]] static std::optional<std::int64_t> sequences_per_step(double samples_rate,
                                                                      double steps_rate);
  /// Adds notices of what contradicts the closing rate.
  void judge(double runtime, const std::optional<Stated>& rate, std::vector<Notice>& notices) const;

 private:
  double evaluating_s_ = 0, evaluated_s_ = 0;  ///< since the session began; within the runtime
  std::optional<double> epochs_, samples_;     ///< of the run; of the data set
  double epoch_error_ = 0;
  std::string last_;  ///< each process prints its dict
};

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
  /// train_runtime, where the line is the closing dict of the Hugging Face Trainer. With
  /// --include_num_input_tokens_seen the dicts of losses and evaluations have it as well, which is
  /// then the time so far.
  [[nodiscard]] static std::optional<double> runtime_of_dict(const Line& line);
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
