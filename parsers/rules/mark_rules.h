// MarkRules: lines that tell of work other than training steps, so that a report can say where the
// time went. Fed by the same anchor pass as the formats.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/run_log.h"
#include "parsers/format.h"
#include "parsers/rules/overflow_rules.h"

namespace bertbench {

class MarkRules {
 public:
  /// Lines without any of these are never looked at.
  [[nodiscard]] static std::span<const std::string_view> anchors();

  void see(const Line& line);
  /// Marks on the lines [begin_line, end_line), in order.
  [[nodiscard]] std::vector<Mark> of(std::int64_t begin_line, std::int64_t end_line) const;
  [[nodiscard]] const OverflowRules& overflows() const { return overflows_; }

 private:
  static constexpr std::size_t kMostMarks = 4096;  ///< bounded: a log may speak of nothing else
  std::vector<Mark> marks_;
  OverflowRules overflows_;
};

}  // namespace bertbench
