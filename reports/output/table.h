// Tables as text: aligned for a terminal, or Markdown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "reports/cells/spool.h"

namespace bertbench {

/// A heading, and whether its cells are numbers (set to the right).
struct TableColumn {
  std::string heading;
  bool right = false;
};

/// The columns of these headings. One that begins with '>' is of numbers.
[[nodiscard]] std::vector<TableColumn> columns_of(std::initializer_list<std::string> headings);

/// Rows may be shorter than the columns; missing cells are empty. Cells hold UTF-8 text; control
/// characters in them are escaped when printed.
struct Table {
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows{};
};

struct TextTableOptions {
  std::string_view indent = "";
  bool headings = true;
  /// Called with the padded text of every body cell; may wrap it in colour codes.
  std::function<std::string(std::size_t row, std::size_t column, const std::string& text)> paint{};
  /// A table wider than this, 0: any width, gives the column named "cell" a line of its own above
  /// the rest of its row.
  std::size_t most_columns = 0;
};

/// Columns two blanks apart, a rule below the headings, no blanks at line ends.
[[nodiscard]] std::string text_table(const Table& table, const TextTableOptions& options = {});

/// A table of very many rows, which come one by one: text_table of varying_columns, without all of
/// its rows in memory.
class LongTable {
 public:
  explicit LongTable(std::vector<TableColumn> columns);
  /// A field for each column.
  void add(const std::vector<std::string>& row);
  /// `keep` as of varying_columns; options.paint is not called.
  void print(const std::vector<std::string>& keep, const TextTableOptions& options,
             const std::function<void(std::string_view)>& out) const;

 private:
  struct Column {
    std::size_t width = 0;
    bool same = true, empty = true;
  };
  std::vector<TableColumn> columns_;
  std::vector<Column> found_;
  std::vector<std::string> first_;
  std::size_t rows_ = 0;
  std::uint64_t bytes_ = 0;
  Spool text_;  ///< of all rows, fit for a terminal: fields end in NUL
};

/// GitHub Markdown, with '|', backslash, backtick, HTML and line breaks in cells made harmless.
[[nodiscard]] std::string markdown_table(const Table& table);

/// Text made safe inside a Markdown line or table cell.
[[nodiscard]] std::string markdown_text(std::string_view text);

/// A reference to a picture that lies next to the text.
[[nodiscard]] std::string markdown_picture(std::string_view title, std::string_view file);

/// Columns that differ between rows; the rest is moved to `constants` as "heading:
/// value". A table of one row is left as it is unless `single_row` is true. Empty columns vanish.
/// `keep`: headings that always stay.
struct Constant {
  std::string heading, value;
};
[[nodiscard]] Table varying_columns(const Table& table, const std::vector<std::string>& keep,
                                    std::vector<Constant>& constants, bool single_row = false);

/// Without the columns that are empty in every row.
[[nodiscard]] Table filled_columns(const Table& table);

/// Terminal columns of UTF-8 text: 2 for East Asian wide and emoji, 0 for combining marks.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace bertbench
