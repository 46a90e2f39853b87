// ClosingWords: what scripts, launchers and schedulers print after a training that is over, in any
// format. Closing statements of one format alone belong to that format. The words of scripts are
// from logs of loops that people wrote for themselves (tests/data/unseen), those of one program
// name it. "quoted/NAME" is a log in tests/golden/quoted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"

namespace bertbench {

class ClosingWords {
 public:
  /// stated: the line states that a training or its program is over. implied: it is what a program
  /// prints at its end (a final evaluation, a saved model, a total time, "Done").
  enum class Kind : std::uint8_t { stated, implied };

  /// Lines without any of these are never looked at.
  [[nodiscard]] static std::span<const std::string_view> anchors();

  /// The line holds the literal of `row`: true when it states or implies that a training is over.
  bool see(const Line& line, std::size_t row);
  /// The first line in (last_record, end) that states that a training is over, or else, where
  /// `implied` counts too, one that implies it; nothing if there is none. A line whose words stand
  /// between the run's records as well, from `first` on, is printed after each epoch or step
  /// (quoted/closing_words.count_once_after_the_last_record).
  [[nodiscard]] std::optional<std::int64_t> after(std::int64_t first, std::int64_t last_record,
                                                  std::int64_t end, bool implied) const;
  /// The last line in [begin, end) that states it, or else, of a log without a record, where a
  /// model is saved or a training's time is given once
  /// (quoted/closing_words.a_model_saved_once_ends_a_log_without_steps: XGBoost, Semantic
  /// Segmentation on PyTorch).
  [[nodiscard]] std::optional<std::int64_t> last_stated(std::int64_t begin, std::int64_t end) const;

 private:
  struct Closing {
    std::int64_t line = 0;
    std::size_t words = 0;  ///< hash of the line's words, without its numbers
    Kind kind = Kind::stated;
    bool of_training = false;  ///< a model saved, the time of a training
  };
  std::vector<Closing> closings_;  ///< in the order of lines; bounded: the oldest are forgotten
};

}  // namespace bertbench
