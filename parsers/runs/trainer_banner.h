// TrainerBanner: what the Hugging Face Trainer prints when a training begins, and behind which a
// log may end before the first step.
#pragma once

#include <cstdint>
#include <string_view>

#include "parsers/format.h"

namespace bertbench {

class RunBuilder;

class TrainerBanner {
 public:
  /// One line of the banner that no other trainer but PaddleNLP's prints.
  static constexpr std::string_view kAnchor = "Instantaneous batch size per device = ";
  /// The Trainer's last words; in a notebook nothing else may stand in between.
  static constexpr std::string_view kDone = "Training completed. Do not forget to share";

  /// True when the line is one of these.
  bool see(const Line& line);
  /// A banner behind all that the training runs printed begins one of its own, which was cut.
  void conclude(RunBuilder& out) const;

 private:
  std::int64_t line_ = 0;  ///< of the newest, if its training did not say that it is over
  bool paddle_ = false;    ///< PaddleNLP's Trainer says the same in its banner
};

}  // namespace bertbench
