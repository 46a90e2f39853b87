// Tables as they stand in a file, before anything is understood.
//
//   text --readers (Markdown, HTML, CSV, pasted text, printed records)--> SourceTable --> Grid
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/notice.h"

namespace bertbench::audit {

struct SourceRow {
  std::int64_t line = 0;  ///< 1-based line of the file
  std::vector<std::string> cells;
  /// Of each cell, where a row is spread over several lines; empty: all stand on `line`.
  std::vector<std::int64_t> cell_lines;
};

/// One table. `rows` includes the heading rows.
struct SourceTable {
  std::int64_t line = 0;             ///< of the first row
  std::vector<std::string> context;  ///< headings, caption and the line above, outermost first
  std::vector<SourceRow> rows;
  std::vector<Notice> notices;  ///< lines of the table that could not be read, and why
};

enum class TableFormat {
  automatic,  ///< by the ending of the path, else by what the text looks like
  markdown,
  html,
  csv,
  text,  ///< pasted text: tabs, aligned columns, single blanks, one cell a line, printed records
};

/// Bounds on what is kept of a file, so that hostile input costs bounded memory.
inline constexpr std::size_t kMaxTables = 10000, kMaxColumns = 1024, kMaxCells = 500'000;

struct PageOptions {
  TableFormat format = TableFormat::automatic;
  /// Names of columns in addition to the known ones, for headings of pasted text: those of
  /// --column.
  std::vector<std::string> names;
};

/// What a file holds.
struct Page {
  std::vector<SourceTable> tables;  ///< in the order of their lines
  std::vector<Notice> notices;      ///< what looks like a table and could not be read
};

/// Every table of `text`. Text without a table gives no table; cells are unescaped and trimmed.
[[nodiscard]] Page read_page(std::string_view text, std::string_view path,
                             const PageOptions& options);

/// Likewise, the tables alone.
[[nodiscard]] std::vector<SourceTable> read_tables(std::string_view text, std::string_view path,
                                                   TableFormat format = TableFormat::automatic);

[[nodiscard]] std::vector<SourceTable> read_markdown_tables(std::string_view text);
[[nodiscard]] std::vector<SourceTable> read_html_tables(std::string_view text);

/// RFC 4180 with ',', ';' or TAB, whichever the first lines agree on. Beyond the RFC: '#' lines
/// are context, and blank lines part several tables of one file.
[[nodiscard]] std::vector<SourceTable> read_csv_tables(std::string_view text);

/// Lines of the file, both ends included.
struct LineSpan {
  std::int64_t first = 0, last = 0;
};

/// Tables as they are pasted from pages, terminals and PDF files. A heading is a line of known
/// column names; it is followed by rows that fit it, cell by cell:
///  - cells between tabs, '|', box lines or at least two blanks, of which two headings are known;
///  - words between single blanks, where all names are known and there is one best way to part
///    heading and row into equally many cells ("GPUs Batch size / GPU (TF32 and FP16) ...");
///  - one cell a line.
/// A row that cannot be assigned to its heading is left out with a notice. `taken`: lines of tables
/// that were read already, in order.
[[nodiscard]] Page read_pasted_tables(std::string_view text, const std::vector<std::string>& names,
                                      const std::vector<LineSpan>& taken);

/// Blocks of lines "NAME: NUMBER", at least two known names each, that a page prints again and
/// again: each block is a row. In a notebook the row begins with the settings of the run that
/// printed it (parsers/lines/notebook_settings.h).
[[nodiscard]] std::vector<SourceTable> read_record_tables(std::string_view text);

/// &amp; &#39; &#x27; &nbsp; and the other entities seen in tables; unknown ones stay.
[[nodiscard]] std::string decode_entities(std::string_view text);

}  // namespace bertbench::audit
