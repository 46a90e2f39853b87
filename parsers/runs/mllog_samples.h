// MllogSamples: what the statements of one MLPerf run tell about the samples that it trained.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "parsers/runs/run_builder.h"

namespace bertbench {

/// What a log states once, for all of its runs.
struct MllogSetting {
  std::string benchmark;
  std::optional<double> global_batch, accumulation, sequence_length, data_set;
  bool loosely = false;  ///< the batch is stated under round 0.5's key
  bool old = false;      ///< the lines are of rounds 0.5 and 0.6
  [[nodiscard]] bool in_tokens() const { return benchmark == "transformer"; }
};

/// Samples of a run come from its evaluations (epoch_num or samples_count), from the train_samples
/// stated at its end, or from its share of the data set; its tracked throughput is what is left
/// where none of them counts samples.
class MllogSamples {
 public:
  void see_evaluation(const nlohmann::json& metadata, std::int64_t line);
  /// train_samples, stated while the run goes on.
  void see_end(std::optional<double> samples, std::int64_t line);
  /// The value of tracked_stats; only a throughput is kept of it.
  void see_tracked(const nlohmann::json& value, std::int64_t line);
  /// The rate that BERT's script closes with.
  void see_script_rate(std::optional<double> rate, std::int64_t line);

  /// Gives the run its samples and its rate, with notices that say where they are from.
  /// `seconds`: its official time, run_stop minus run_start; `stop_line`: where run_stop stands.
  void tell(const MllogSetting& setting, double seconds, std::int64_t stop_line, RunLog& log) const;

 private:
  enum class Source { none, evaluation, end, share };
  [[nodiscard]] Source source(const MllogSetting& setting) const;
  [[nodiscard]] double done(const MllogSetting& setting) const;
  void tell_tracked(std::int64_t stop_line, RunLog& log) const;
  void tell_samples(double samples, Source from, double seconds, std::int64_t stop_line,
                    RunLog& log) const;
  void compare_with_script(RunLog& log) const;

  std::optional<double> eval_, first_eval_, end_, throughput_, script_rate_;
  std::int64_t eval_line_ = 0, end_line_ = 0, throughput_line_ = 0, script_line_ = 0;
  std::int64_t evals_ = 0;
  bool counted_ = false;   ///< the evaluation says samples_count, which needs no guess
  bool composer_ = false;  ///< the evaluation is Composer's, whose epoch_num counts epochs
};

}  // namespace bertbench
