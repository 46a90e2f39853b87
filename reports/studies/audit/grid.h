// Grid: a table whose columns are understood and whose numbers are read.
#pragma once

#include <compare>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/notice.h"
#include "reports/studies/audit/columns.h"
#include "reports/studies/audit/printed.h"
#include "reports/studies/audit/source_table.h"

namespace bertbench::audit {

struct Column {
  std::string heading;
  Role role = Role::none;
  std::vector<std::string> variants;
  std::string unit;
  /// Of the finest number in the column: 0.01 when one has two decimals; no number: infinite.
  double digit = std::numeric_limits<double>::infinity();
};

struct Cell {
  std::string text;
  std::vector<Printed> numbers;  ///< empty: not a number
};

struct Row {
  std::int64_t line = 0;
  std::vector<Cell> cells;               ///< as many as columns
  std::vector<std::int64_t> cell_lines;  ///< of each cell; empty: all stand on `line`
};

/// Which number of the grid; `part` of an "a and b" cell.
struct CellId {
  std::size_t row = 0, column = 0, part = 0;
  auto operator<=>(const CellId&) const = default;
};

struct Grid {
  std::int64_t line = 0;
  std::string title;
  bool gpus_are_per_node = false;  ///< a column "GPUs" next to "nodes" counts those of one node
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::map<Role, double> facts;       ///< stated by the user or by the headings
  std::map<Role, std::string> words;  ///< facts that are text: model, checkpointing
  std::vector<Notice> notices;

  /// The column of a role and variant. A column without variants serves all; "" asks for the only
  /// one. `part` is which of "a and b" is meant.
  struct Place {
    std::size_t column, part;
  };
  [[nodiscard]] std::optional<Place> find(Role role, std::string_view variant) const;
  [[nodiscard]] bool has(Role role) const { return find(role, "").has_value(); }
  /// The number of a role in a row: that of the variant, else the `part`th of its cell.
  [[nodiscard]] std::optional<CellId> cell(std::size_t row, Role role,
                                           std::string_view variant = "",
                                           std::size_t part = 0) const;
  [[nodiscard]] const Printed& number(const CellId& id) const {
    return rows[id.row].cells[id.column].numbers[id.part];
  }
  /// Every variant named by a column of one of `roles`; {""} when none is.
  [[nodiscard]] std::vector<std::string> variants_of(const std::vector<Role>& roles) const;
};

/// Heading rows of a table, those that it prints as body included: a Markdown heading is one row,
/// so tables with two or three ("batch" over "size") print the rest below the alignment row.
[[nodiscard]] std::size_t count_heading_rows(const SourceTable& table);

/// What the user states about tables: --column and --fact.
struct GridOptions {
  std::vector<std::pair<Role, std::string>> columns;  ///< role, heading (case does not matter)
  std::map<Role, double> facts;
  std::map<Role, std::string> words;
};

/// Finds the heading rows (several are joined), sets shifted rows right, turns tables whose
/// parameters run down, reads facts such as "Batch size = 64" from the headings above.
[[nodiscard]] Grid make_grid(const SourceTable& table, const GridOptions& options);

}  // namespace bertbench::audit
