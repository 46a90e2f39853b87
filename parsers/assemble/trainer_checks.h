// TrainerChecks: what the Hugging Face Trainer prints next to its closing rate, and what
// contradicts that rate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/notice.h"
#include "parsers/core/run_log.h"

namespace bertbench {

/// {'eval_loss': 0.7, 'eval_runtime': 29.78, ..., 'epoch': 3.0} on the console, and the members of
/// trainer_state.json and all_results.json one by one. train_runtime holds the evaluations between
/// its steps, and so does the rate that is made from it.
class TrainerChecks {
 public:
  /// True when the line is the dict of an evaluation. One from before the training has no epoch.
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

}  // namespace bertbench
