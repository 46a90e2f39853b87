// TrainingClock: the stamps of a log without the time of the evaluations between its lines.
#pragma once

#include <utility>

#include "parsers/core/record.h"

namespace bertbench {

/// An interval that holds an evaluation counts with the time that its own iterations took:
/// mmengine, LiBai, PaddleOCR, PaddleClas and PaddleVideo
/// (quoted/mmcv.takes_mmengines_validations_off_the_clock).
class TrainingClock {
 public:
  void note_evaluation() { evaluated_ = true; }
  /// Seconds of a line of training. `stamp_s`: what it shows; `own_s`: what the iterations since
  /// the line before took by themselves, NaN if that is not known.
  double at(double stamp_s, double own_s) {
    const double took = stamp_s - std::exchange(before_s_, stamp_s);
    const bool held = std::exchange(evaluated_, false) && own_s > 0 && took > own_s;
    if (held) off_s_ += took - own_s;
    return stamp_s - off_s_;
  }
  /// What was taken off so far.
  [[nodiscard]] double off_s() const { return off_s_; }

 private:
  bool evaluated_ = false;  ///< since the newest line of training
  double before_s_ = kUnknown, off_s_ = 0;
};

}  // namespace bertbench
