// Evaluations that stand after their run once more: a driver of several runs prints those of each
// log again (`grep val_loss`). They are no run of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace bertbench {

class RepeatedEvaluations {
 public:
  /// Whether the line of `step`, at `clock_s`, is an evaluation that was seen before with all its
  /// times; `newest` is the step of the line before. That of step 0 may as well be of a new run
  /// with the same seed: the line after it tells.
  [[nodiscard]] bool again(std::string_view text, std::int64_t step, double clock_s,
                           std::int64_t newest) {
    const bool evaluation = text.find(" val_loss:") != std::string_view::npos;
    const std::size_t line = evaluation ? std::hash<std::string_view>{}(text) : 0;
    const bool goes_back = step < newest;
    const bool told = evaluation && goes_back && told_.contains(line);
    began_ = goes_back && !told ? start_ : std::nullopt;
    start_ = told && step == 0 ? std::optional(clock_s) : std::nullopt;
    if (evaluation && !told && told_.size() < kEvaluationsHeld) told_.insert(line);
    return told;
  }
  /// The clock of a step 0 before this line which did begin a run; nothing if none does.
  [[nodiscard]] std::optional<double> take_start() { return std::exchange(began_, std::nullopt); }

 private:
  static constexpr std::size_t kEvaluationsHeld = 10'000;
  std::unordered_set<std::size_t> told_;
  std::optional<double> start_, began_;
};

}  // namespace bertbench
