// NonFiniteRules: gradient norms and results of evaluations that a log prints as NaN. Unlike a loss
// that is NaN they end no training, but what follows is worth a look: NVIDIA's Transformer (corpus
// nvidia-dle-pytorch/transformer_v100_fp16_gpu1_nanwarn.log, line 7238), Megatron-LM
// (quoted/nonfinite_rules.name_the_step_of_a_gradient_norm_or_an_evaluation_that_is_nan).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/run_log.h"

namespace bertbench {

class NonFiniteRules {
 public:
  static constexpr std::string_view kAnchors[] = {" nan", "=nan", ":nan", " NaN", "=NaN", ":NaN"};

  void see(const Line& line);

  /// Adds to the run what lines [begin_line, end_line) print: how many there are and the step of
  /// the first.
  void add_notices(RunLog& run, std::int64_t begin_line, std::int64_t end_line) const;

 private:
  static constexpr std::size_t kLinesHeld = 4096;  ///< of each; bounded: a log may print no others
  std::vector<std::int64_t> gradients_, evaluations_;
};

}  // namespace bertbench
