// MllogSamples: what is known from the statements of one MLPerf run about the samples that it
// trained.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/assemble/assembler.h"
#include "parsers/formats/mlperf/mllog_setting.h"

namespace bertbench {

/// Samples of a run come from its evaluations (epoch_num or samples_count; a step_num times the
/// batch), from the train_samples stated at its end, from its share of the data set or from its
/// whole epochs; its tracked throughput is what is left where none of them counts samples.
class MllogSamples {
 public:
  void see_evaluation(const nlohmann::json& metadata, std::int64_t line);
  /// epoch_start, epoch_stop, block_start, block_stop, between run_start and run_stop.
  void see_epoch(const std::string& key, const nlohmann::json& metadata, double time_ms);
  /// train_samples, stated while the run goes on.
  void see_end(std::optional<double> samples, std::int64_t line);
  /// The value of tracked_stats; only a throughput is kept of it.
  void see_tracked(const nlohmann::json& value, std::int64_t line);
  /// The rate that BERT's script closes with.
  void see_script_rate(std::optional<double> rate, std::int64_t line);

  /// Reports the samples of the open run and its rate, with notices that state where they are from.
  /// `seconds`: its official time, run_stop minus run_start; `stop_line`: where run_stop stands;
  /// `rated`: its records have rates.
  void conclude(const MllogSetting& setting, double seconds, std::int64_t stop_line, bool rated,
                Emit emit);

 private:
  enum class Source { none, evaluation, end, steps, share, epochs };
  /// Epochs, or blocks of them, that were begun and ended.
  class Epochs {
   public:
    /// `number`: as it is named, from 0 or 1; `many`: epochs that a block holds.
    void begin(double number, double many, double time_ms);
    void stop(double number, double many, double time_ms);
    /// After as many epochs: a block that they end with is over, though it stops after the run.
    void evaluated(double number);
    [[nodiscard]] bool any() const { return !spent_ms_.empty(); }
    /// Whole ones; unknown if there are none, or if they are named by what was trained.
    [[nodiscard]] double whole() const;
    /// The last one took much less time than the others: it is not counted.
    [[nodiscard]] bool ended_early() const;
    [[nodiscard]] double in_one() const { return many_; }
    [[nodiscard]] double first() const { return first_; }

   private:
    double first_ = kUnknown, end_ = kUnknown;  ///< end: one past the last
    double begun_ = kUnknown, many_ = 1, begun_ms_ = kUnknown;
    bool follows_ = false;       ///< one begins where another ends
    bool named_by_end_ = false;  ///< the first block already: Google's of rounds 0.6 and 0.7
    std::vector<double> spent_ms_;
  };
  [[nodiscard]] Source source(const MllogSetting& setting, double seconds) const;
  /// What a fraction of an epoch is counted from: 0 or 1, unknown if that cannot be decided.
  [[nodiscard]] double share_origin() const;
  [[nodiscard]] double share(const MllogSetting& setting) const;
  /// The epochs are named by the samples trained, as OpenFold's are.
  [[nodiscard]] bool named_by_samples(const MllogSetting& setting) const;
  [[nodiscard]] const Epochs& epochs() const;
  /// Samples of an epoch; unknown if train_samples does not give them.
  [[nodiscard]] static double data_set(const MllogSetting& setting);
  [[nodiscard]] double whole_epochs(const MllogSetting& setting) const;
  /// Batches, by the last evaluation's step_num or by the blocks of Google's BERT.
  [[nodiscard]] std::optional<double> steps(const MllogSetting& setting) const;
  /// train_samples at the end is not what the run trained on.
  [[nodiscard]] bool odd_end(double many, bool bert) const;
  /// The counts are tokens, not sequences.
  [[nodiscard]] bool in_tokens(const MllogSetting& setting) const;
  /// Of the throughputs tracked: the last, the middle one where that is far off.
  [[nodiscard]] double tracked() const;
  /// The tracked throughputs are of the same order as this rate or of one process's share of it,
  /// or there are none.
  [[nodiscard]] bool agrees(double rate) const;
  void conclude_tracked(const MllogSetting& setting, std::int64_t stop_line, bool rated, Emit emit);
  /// `tokens`: in a sequence, where the log counts those; else 1.
  void conclude_samples(double samples, double tokens, Source from, double seconds,
                        std::int64_t stop_line, double processes, Emit emit);
  void state(double rate, std::int64_t line, std::optional<double> samples, Emit emit);
  [[nodiscard]] std::string origin(Source from) const;
  void compare_with_tracked(double rate, double processes, Emit emit) const;
  void compare_with_script(Emit emit) const;

  std::optional<double> eval_, first_eval_, second_eval_, end_, script_rate_, steps_;
  std::optional<double> rate_;  ///< that was reported
  std::vector<double> throughputs_;
  Epochs epochs_, blocks_;
  std::int64_t eval_line_ = 0, end_line_ = 0, throughput_line_ = 0, script_line_ = 0;
  std::int64_t evals_ = 0;
  bool counted_ = false;   ///< the evaluation says samples_count, which needs no guess
  bool composer_ = false;  ///< the evaluation is Composer's, whose epoch_num counts epochs
};

}  // namespace bertbench
