// TrainerFiles: trainer_state.json, train_results.json and all_results.json of Hugging Face's
// Trainer, and losses that it logs as JSON.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/assemble/run_builder.h"
#include "parsers/assemble/trainer_checks.h"
#include "parsers/formats/huggingface/trainer_evaluations.h"

namespace bertbench {

/// Members of such files, one by one: keys stand in the order of the alphabet, a loss before
/// its step.
class TrainerFiles {
 public:
  /// A member on a line of its own: "\"loss\": 0.46,". True when it is one that is known.
  bool see_member(const Line& line, TrainerEvaluations& evaluations, RunBuilder& out);
  /// A file, or a dict, without line breaks: member by member, as if each stood on a line.
  bool see_compact(const Line& line, TrainerEvaluations& evaluations, RunBuilder& out);
  /// An overlong line comes in parts, of which only the first has the opening brace.
  [[nodiscard]] bool goes_on(const Line& line) const { return line.number == compact_line_; }

  /// "log_history" was seen, of trainer_state.json.
  [[nodiscard]] bool history() const { return history_; }
  /// Gives the run what the files state of the whole, with notices on their rates.
  void conclude(RunDraft& draft) const;

 private:
  bool see_rate(const Line& line, RunBuilder& out);
  bool see_entry(const Line& line, RunBuilder& out);
  void fill_old_rate(RunDraft& draft) const;

  bool history_ = false;
  std::int64_t compact_line_ = 0, dict_line_ = 0;  ///< of JSON that stands on one line
  std::optional<double> loss_, global_step_, max_steps_, runtime_, samples_rate_, steps_rate_;
  TrainerChecks checks_;
  std::int64_t rate_line_ = 0;
  double entry_step_ = 0;  ///< of the newest entry of the history
  double session_ended_ = 0, session_began_ = 0;
};

}  // namespace bertbench
