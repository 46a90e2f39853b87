// Lines that tell losses and no time.
//
//   s:0 tel:11.0095 / s:250 trl:6.1166 lr:0.000215 norm:0.74    (llm.c, main.log)
//   250 hella 0.2437                             (build-nanogpt, log.txt: evaluations)
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/core/line.h"

namespace bertbench {

struct LossLine {
  std::int64_t step = 0;
  std::optional<double> loss;  ///< of training
  bool trained = false;        ///< the line of a step, not of an evaluation before one
  /// An evaluation off the distance that those before it keep: the trainers' very last.
  bool closing = false;
};

class LossLines {
 public:
  [[nodiscard]] std::optional<LossLine> see(const Line& line);

 private:
  bool closes(std::int64_t step);

  std::int64_t first_ = -1, period_ = 0, newest_ = -1;  ///< evaluations of this run
};

}  // namespace bertbench
