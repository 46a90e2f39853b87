// RankTimes: what a step took each rank by itself, by stretches of a run. Ranks that wait for each
// other share one step time; the time before they wait shows which of them is slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

/// Ranks x stretches of steps, in bounded memory: beyond kMostColumns stretches neighbours are
/// joined, and ranks beyond kMostRanks are left out.
class RankTimes {
 public:
  static constexpr std::size_t kMostColumns = 64;
  static constexpr std::size_t kMostRanks = 8192;  ///< 1 KiB each

  /// A mean over steps; steps == 0: unknown.
  struct Mean {
    double sum = 0, steps = 0;
    [[nodiscard]] double value() const { return sum / steps; }
    void add(const Mean& other) {
      sum += other.sum;
      steps += other.steps;
    }
  };
  struct Row {
    std::string node;            ///< as the rank names it; empty = unknown
    std::int64_t last_step = 0;  ///< newest step of the rank
    std::vector<Mean> columns;   ///< seconds of a step; shorter than others where it ended early
  };

  /// Steps first .. last took the rank `seconds` each by itself. What is older than the rank's
  /// newest step is left out.
  void add(std::int64_t rank, std::string_view node, std::int64_t first, std::int64_t last,
           double seconds);

  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] const std::map<std::int64_t, Row>& rows() const { return rows_; }
  /// Steps of the run that column i covers: first .. first + width - 1.
  [[nodiscard]] std::int64_t first_step(std::size_t column) const {
    return origin_ + width_ * static_cast<std::int64_t>(column);
  }
  [[nodiscard]] std::int64_t last_step(std::size_t column) const {
    return first_step(column) + width_ - 1;
  }

 private:
  std::map<std::int64_t, Row> rows_;
  std::int64_t origin_ = 0;  ///< first step of the first column
  std::int64_t width_ = 0;   ///< steps of a column: those of the first line, doubled as needed
};

}  // namespace bertbench
