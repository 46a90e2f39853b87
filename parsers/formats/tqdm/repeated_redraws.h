// RepeatedRedraws: a bar that something is written over at regular steps.
#pragma once

#include <cstdint>

#include "parsers/formats/tqdm/tqdm_bar.h"

namespace bertbench {

/// tqdm.write() clears the bar, writes, and draws it again unchanged. The Hugging Face Trainer does
/// so every logging_steps, and the redraws show it where what it wrote went to another file.
class RepeatedRedraws {
 public:
  /// A redraw of the bar, copies of the one before included.
  void see(const TqdmBar& bar);
  /// The steps between two writings, once they were the same several times, else 0.
  [[nodiscard]] std::int64_t every() const {
    return times_ >= kRepeatsForARule && !refuted_ ? every_ : 0;
  }
  /// Another redraw may still decide.
  [[nodiscard]] bool undecided() const { return !refuted_ && times_ < kRepeatsForARule; }

 private:
  static constexpr int kRepeatsForARule = 3;
  std::int64_t done_ = -1, at_ = 0, every_ = 0;  ///< newest redraw; newest one that was repeated
  double elapsed_s_ = kUnknown, rate_ = kUnknown;
  int copies_ = 0, times_ = 0;
  bool refuted_ = false;
};

}  // namespace bertbench
