// The bar of NeMo 1 under Lightning, which tells the time of a step where others tell a rate.
//
//   Epoch 0: :   0%|    | 20/300000 [00:34<143:15:22, v_num=, reduced_train_loss=11.00,
//   global_step=18.00, consumed_samples=2432.0, train_step_timing in s=1.660]
//
// It counts optimizer steps. Where a rate stands in front of the rest, tqdm's reader takes the bar.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/core/line.h"

namespace bertbench {

class RunBuilder;

class NemoBar {
 public:
  static constexpr std::string_view kAnchor = "train_step_timing in s=";

  bool see(const Line& line, RunBuilder& out);

 private:
  /// Sequences of a step: what was consumed between two lines over their steps.
  void see_batch(const Line& line, std::int64_t step, RunBuilder& out);

  double elapsed_s_ = 0, base_s_ = 0;  ///< of the newest line; of the epochs before
  std::optional<double> consumed_;
  std::int64_t consumed_step_ = 0;
};

}  // namespace bertbench
