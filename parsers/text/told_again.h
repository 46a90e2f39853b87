// Evaluations that stand behind their run once more: a driver of several runs prints those of each
// log again (`grep val_loss`). They are no run of their own.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace bertbench {

class ToldAgain {
 public:
  /// An evaluation's line.
  void see(std::string_view text) {
    if (told_.size() < kMost) told_.insert(std::hash<std::string_view>{}(text));
  }
  /// Whether that very line was seen, with all its times.
  [[nodiscard]] bool holds(std::string_view text) const {
    return told_.contains(std::hash<std::string_view>{}(text));
  }
  /// A step 0 that is told again may as well be that of a new run with the same seed: the line
  /// behind it tells. Until then this keeps the clock that it shows.
  void keep_start(double clock_s) { start_s_ = clock_s; }
  /// The clock of such a step 0 in front of this line; nothing if there is none.
  [[nodiscard]] std::optional<double> take_start() { return std::exchange(start_s_, std::nullopt); }

 private:
  static constexpr std::size_t kMost = 10'000;
  std::unordered_set<std::size_t> told_;
  std::optional<double> start_s_;
};

}  // namespace bertbench
