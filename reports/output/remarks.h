// What a reader must see next to the numbers: failures, warnings, notices.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "reports/model/cell_source.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct Remark {
  enum class Kind { failure, warning, notice } kind = Kind::warning;
  std::string cell;       ///< its short name
  int trial = 0;          ///< 0: of the cell as a whole
  std::int64_t line = 0;  ///< of the log, 0: none
  std::string text;
  std::string like;  ///< what remarks that differ in numbers alone have in common

  /// "bert-base 1n2g, trial 3, line 77".
  [[nodiscard]] std::string who() const;
};
/// Warnings of cells, failures and notices of trials, in the order of the set.
[[nodiscard]] std::vector<Remark> remarks_of(const ResultSet& set);

/// Remarks that say the same but for their numbers.
struct RemarkGroup {
  std::vector<Remark> remarks;

  /// "who: text" of a remark of its own; "24 cells: text" of many that say the same; "107 trials,
  /// such as: text" where their numbers differ; "bert-base 1n2g, 5 trials: text" within a cell.
  [[nodiscard]] std::string summary() const;
  /// Different trials that it speaks of; a cell as a whole counts as one.
  [[nodiscard]] std::size_t trials() const;
};
/// Failures first, then warnings, then notices; within these in the order of the set.
[[nodiscard]] std::vector<RemarkGroup> grouped_remarks(const ResultSet& set);

/// Notices that say the same, but for their numbers, of many trials. Cells are gone through one by
/// one, so there may be very many.
class CommonNotices {
 public:
  /// `at_least`: trials of which one is said, 2 or more.
  CommonNotices(const CellSource& cells, std::size_t at_least);

  /// RemarkGroup::summary() of each, in the order of the cells.
  [[nodiscard]] const std::vector<std::string>& summaries() const { return summaries_; }
  [[nodiscard]] bool contain(const Notice& notice) const;
  /// Cells with notices that are not common, in their order.
  [[nodiscard]] const std::vector<std::size_t>& cells_of_others() const { return cells_of_others_; }

 private:
  std::unordered_set<std::string> likes_;  ///< Remark::like of each
  std::vector<std::string> summaries_;
  std::vector<std::size_t> cells_of_others_;
};

}  // namespace bertbench
