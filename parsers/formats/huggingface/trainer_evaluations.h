// TrainerEvaluations: the rates of evaluation and prediction that the Hugging Face Trainer states.
//
//   {'eval_loss': 0.70, 'eval_runtime': 131.5, 'eval_samples_per_second': 2298.3, 'epoch': 1.0}
//     eval_samples_per_second  =   2298.333         table of log_metrics, which repeats a dict
//   "eval_samples_per_second": 133.354,             trainer_state.json, eval_results.json ...
//
// Each states samples/s of the job over its own runtime. Those of one training, epoch by epoch, are
// records of one run; one that trains nothing in between begins another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "parsers/core/line.h"

namespace bertbench {

class RunBuilder;

class TrainerEvaluations {
 public:
  /// On every such line, and on those of the training's own rate.
  static constexpr std::string_view kAnchor = "_samples_per_second";

  /// True when the line states the rate of an evaluation (`eval_`, with or without the data set's
  /// name) or of a prediction (`test_`, `predict_`, of kind inference).
  bool see(const Line& line, RunBuilder& out);

 private:
  std::string key_, text_;  ///< of the newest
  double rate_ = 0;
  std::optional<double> epoch_;
  std::int64_t count_ = 0;  ///< in the open run
};

}  // namespace bertbench
