// ClosingWords: what scripts, launchers and schedulers say after a training that is over, in any
// format. Closing statements of one format alone belong to that format.
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
  /// Lines without any of these are never looked at.
  [[nodiscard]] static std::span<const std::string_view> anchors();

  /// The word of `row` stands at `at`: true when it says that a training is over.
  bool see(const Line& line, std::size_t row, std::size_t at);
  /// The first line in (last_record, end) that says that a training is over; nothing if there is
  /// none. Words that stand between the run's records as well, from `first` on, are said after
  /// each epoch or step.
  [[nodiscard]] std::optional<std::int64_t> after(std::int64_t first, std::int64_t last_record,
                                                  std::int64_t end) const;

 private:
  struct Said {
    std::int64_t line = 0;
    std::size_t words = 0;  ///< place in anchors()
  };
  std::vector<Said> said_;  ///< in the order of lines; bounded: the oldest are forgotten
};

}  // namespace bertbench
