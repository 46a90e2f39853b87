// TrainerBanner: what the Trainers of Hugging Face and of PaddleNLP print when a training begins,
// and after which a log may end before the first step.
#pragma once

#include <cstdint>
#include <string_view>

#include "parsers/assemble/assembler.h"
#include "parsers/core/line.h"

namespace bertbench {

class TrainerBanner {
 public:
  /// One line of the banner that no other trainer but PaddleNLP's prints.
  static constexpr std::string_view kAnchor = "Instantaneous batch size per device = ";
  /// The last line of the Hugging Face Trainer; in a notebook nothing else may stand in between
  /// (quoted/trainer_runs.a_banner_and_the_last_words_are_no_cut_log).
  static constexpr std::string_view kDone = "Training completed. Do not forget to share";

  enum class By { huggingface, paddlenlp };
  explicit TrainerBanner(By by = By::huggingface) : by_(by) {}

  /// True when the line is one of these, and of this Trainer.
  bool see(const Line& line);
  /// A banner after all that the training runs printed begins one of its own, which was cut.
  /// `newest`: the last line of a training run, 0: there is none. `how`: of a track that has no
  /// other run.
  void conclude(std::int64_t newest, const Begin& how, Emit emit) const;
  /// A training was begun, and no line has stated yet that it is over.
  [[nodiscard]] bool stands() const { return line_ > 0; }
  /// The other Trainer's banner was seen.
  [[nodiscard]] bool of_other() const { return other_; }

 private:
  std::int64_t line_ = 0;  ///< of the newest, if its training did not state its end
  By by_;
  bool other_ = false;  ///< the other Trainer prints the same in its banner
};

}  // namespace bertbench
