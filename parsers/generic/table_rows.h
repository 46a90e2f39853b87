// Tables whose columns are named once, in a head, with the numbers in the rows below it:
// "epoch  train_loss  time", "| Epoch | Train Loss | Time |", "epoch,loss,time".
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
  char mark = ' ';  ///< what parts the columns: a blank, a tab, '|' or ','
};

/// The head on a line; nothing where its parts are not names or none of them counts.
[[nodiscard]] std::optional<TableHead> table_head(std::string_view line);

/// Lines of dashes and empty lines, which may stand between a head and its rows.
[[nodiscard]] bool is_rule_of_table(std::string_view line);

/// The numbers of a row by the names above them: each begins at its value, and `column` is where it
/// stands in the table. Empty where the line is no row.
[[nodiscard]] std::vector<LineNumber> row_numbers(const TableHead& head, std::string_view line);

/// An RE2 pattern of the rows; `groups` has that of the value of each column, empty where it is not
/// taken.
[[nodiscard]] std::string row_pattern(const TableHead& head,
                                      const std::vector<std::string>& groups);

}  // namespace bertbench
