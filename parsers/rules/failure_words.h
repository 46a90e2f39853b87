// FailureWords: what scripts print in words of their own when a training fails or is ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/outcome.h"

namespace bertbench {

/// Such a line is a weaker sign than one of the outcome table: it counts after the last record of a
/// run that did not come to its plan, where no line states that the training is over. What only
/// implies an end does not stand against it
/// (quoted/closing_words.what_implies_an_end_does_not_undo_words_of_failure).
class FailureWords {
 public:
  struct Words {
    std::int64_t line = 0;
    Status status = Status::error;
    std::size_t shape = 0;  ///< a hash of the text without its numbers
    std::string text;
  };

  /// Lines without any of these are never looked at.
  [[nodiscard]] static std::span<const std::string_view> anchors();
  /// The line holds one of them.
  void see(const Line& line);
  /// The first in (last_record, end) whose words do not stand between records before as well, where
  /// the run went on. Null if there is none.
  [[nodiscard]] const Words* after(std::int64_t last_record, std::int64_t end) const;

 private:
  std::vector<Words> words_;  ///< in the order of lines; bounded: the oldest are forgotten
};

/// The line itself states that the run lives on: "CUDA out of memory, skipping batch", "Retrying
/// with batch size 16" (quoted/outcome_rules.a_line_that_goes_on_ended_nothing).
[[nodiscard]] bool words_go_on(std::string_view text);

/// A loss that is not finite, and that the training stops: "Loss is nan. Stopping.", "Found NaN
/// loss, terminating" (quoted/outcome_rules.a_loss_that_is_not_finite_stops_a_training).
[[nodiscard]] bool stops_at_nan(std::string_view text);
/// An exception about such a loss: "AssertionError: Loss is not finite: nan".
[[nodiscard]] bool names_nan_loss(std::string_view text);

}  // namespace bertbench
