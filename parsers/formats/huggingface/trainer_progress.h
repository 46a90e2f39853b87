// TrainerProgress: the step and the clock that scripts around the Hugging Face Trainer put into
// what it logs.
//
//   {'loss': 1.47, ..., 'global_step/max_steps': '5/94', 'elapsed_time': '1m 3s',
//    'remaining_time': '9m 36s', 'train_speed(iter/s)': 0.154297}          ms-swift; as JSON too
//   {"current_steps": 10, "total_steps": 1350, "loss": 3.80, ..., "elapsed_time": "0:00:07",
//    "remaining_time": "0:16:43"}                  trainer_log.jsonl of LLaMA-Factory
//
// The speed of ms-swift is the global step over the seconds since the session began: the two give
// these seconds with six digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "parsers/core/line.h"

namespace bertbench {

class RunDraft;

struct TrainerProgress {
  std::int64_t step = 0, planned = 0;
  double elapsed_s = 0, resolution_s = 1;  ///< since the session began
  std::optional<double> loss;              ///< none in the last line and in an evaluation's

  [[nodiscard]] static std::optional<TrainerProgress> read(const Line& line);
};

/// The evaluations that stand between two steps which print the clock: it goes on meanwhile.
class EvaluationsBetween {
 public:
  /// On a line that may report an evaluation.
  void see(const Line& line);
  void step();
  /// Says in a notice of `run` what its times hold, and begins anew.
  void conclude(RunDraft& run);

 private:
  struct Sum {
    int n = 0;
    double seconds = 0;
  };
  Sum pending_, between_;
  bool any_step_ = false;
  std::string last_;  ///< each process prints it
};

}  // namespace bertbench
