// What a reader must see next to the numbers: failures, warnings, notices.
#pragma once

#include <cstdint>
#include <string>
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

/// Remarks that differ in their numbers alone.
struct RemarkGroup {
  std::vector<Remark> remarks;

  /// "who: text" of a remark of its own; "24 cells: text" of many with the same text; "107 trials,
  /// such as: text" where their numbers differ; "bert-base 1n2g, 5 trials: text" within a cell.
  [[nodiscard]] std::string summary() const;
  /// Different trials that it is about; a cell as a whole counts as one.
  [[nodiscard]] std::size_t trials() const;
};
/// Failures first, then warnings, then notices; within these in the order of the set.
[[nodiscard]] std::vector<RemarkGroup> grouped_remarks(const ResultSet& set);

/// Notices of trials, then warnings of cells, a line each code and wording with the numbers of the
/// first: "a.log:7: text", "12 lines (3, 9, 14 ...), such as: text", "4 trials: text". Where all is
/// of one log its name is left out. Of one code at most three wordings, then one line with the
/// number of notices left out. Cells are gone through one by one: there may be very many.
/// `windows_shown`: the caller prints "warm-up included" next to each trial, so notices of
/// is_warmup_included() are left out.
[[nodiscard]] std::vector<std::string> notice_lines(const CellSource& cells,
                                                    bool windows_shown = false);

/// True where the notice states only that all of few records are used.
[[nodiscard]] bool is_warmup_included(const Notice& notice);

// Checks that show how far the numbers of a result can be trusted.

struct ResultCheck {
  bool good = false;
  std::string text;    ///< "largest spread (cv) 1.5 %"
  bool grave = false;  ///< not good, and enough by itself to distrust the whole result
};

/// Every check, in the order in which a reader wants them; one alone where nothing has a number.
[[nodiscard]] std::vector<ResultCheck> result_checks(const ResultSet& set);

}  // namespace bertbench
