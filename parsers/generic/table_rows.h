// Tables whose columns are named once, in a head, with the numbers in the rows below it:
// "epoch  train_loss  time", "| Epoch | Train Loss | Time |", "epoch,loss,time". A head may also
// stand on the line of its row: "epoch/step/loss: 3/100/2.31".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/generic/line_numbers.h"

namespace bertbench {

struct TableHead {
  std::string text;  ///< as it stands on the line, from the first name to the last
  std::vector<std::string> names;
  char mark = ' ';         ///< what parts the columns: a blank, a tab, '|', ';', ',' or '/'
  bool same_line = false;  ///< its row follows on its line
};

/// The head on a line; nothing where its parts are not names or none of them counts.
[[nodiscard]] std::optional<TableHead> table_head(std::string_view line);

/// "epoch/step/loss:" of a line whose row follows it.
[[nodiscard]] std::optional<TableHead> head_of_row(std::string_view line);

/// Lines of dashes and empty lines, which may stand between a head and its rows.
[[nodiscard]] bool is_rule_of_table(std::string_view line);

/// The numbers of a row by the names above them: each begins at its value, and `column` is where it
/// stands in the table. A time without a unit is none: columns of hours have such names as well.
/// Empty where the line is no row.
[[nodiscard]] std::vector<LineNumber> row_numbers(const TableHead& head, std::string_view line);

/// An RE2 pattern of the rows; `groups` has that of the value of each column, empty where it is not
/// taken.
[[nodiscard]] std::string row_pattern(const TableHead& head,
                                      const std::vector<std::string>& groups);

}  // namespace bertbench
