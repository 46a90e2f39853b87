// MarkRules: lines about work other than training steps, so that a report can show where the time
// went. Fed by the same anchor pass as the formats.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/run_log.h"
#include "parsers/rules/nonfinite_rules.h"
#include "parsers/rules/overflow_rules.h"
#include "parsers/rules/rank_time_rules.h"
#include "parsers/rules/stated_rules.h"

namespace bertbench {

class MarkRules {
 public:
  /// Lines without any of these are never looked at.
  [[nodiscard]] static std::span<const std::string_view> anchors();

  void see(const Line& line);
  /// Marks on the lines [begin_line, end_line), in order.
  [[nodiscard]] std::vector<Mark> of(std::int64_t begin_line, std::int64_t end_line) const;
  [[nodiscard]] const OverflowRules& overflows() const { return overflows_; }
  [[nodiscard]] const NonFiniteRules& nonfinite() const { return nonfinite_; }
  [[nodiscard]] const RankTimeRules& rank_times() const { return rank_times_; }
  [[nodiscard]] const StatedRules& stated() const { return stated_; }
  /// Whether an evaluation begins on one of the lines (after_line, before_line), and nothing on
  /// those that follow it up to there begins a training.
  [[nodiscard]] bool evaluates(std::int64_t after_line, std::int64_t before_line) const;
  /// Whether a training or a launch begins on one of the lines (after_line, before_line).
  [[nodiscard]] bool trains(std::int64_t after_line, std::int64_t before_line) const;

 private:
  void mark(MarkKind kind, std::int64_t line);

  static constexpr std::size_t kMostMarks = 4096;  ///< bounded: a log may hold nothing else
  std::vector<Mark> marks_;
  std::vector<std::int64_t> trainings_;  ///< lines on which a training or a launch begins
  OverflowRules overflows_;
  NonFiniteRules nonfinite_;
  RankTimeRules rank_times_;
  StatedRules stated_;
};

}  // namespace bertbench
