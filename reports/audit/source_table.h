// Tables as they stand in a file, before anything is understood.
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
};

/// One table. `rows` includes the heading rows; the reader says how many it is sure of.
struct SourceTable {
  std::int64_t line = 0;             ///< of the first row
  std::vector<std::string> context;  ///< headings, caption and the line above, outermost first
  std::vector<SourceRow> rows;
  std::size_t heading_rows = 1;
};

enum class TableFormat { automatic, markdown, html, csv };

/// Bounds on what is kept of a file, so that hostile input costs bounded memory.
inline constexpr std::size_t kMaxTables = 10000, kMaxColumns = 1024, kMaxCells = 500'000;

/// Every table of `text`. Automatic: by the ending of `path`, else by what the text looks like.
/// Text without a table gives an empty list; cells are unescaped and trimmed.
[[nodiscard]] std::vector<SourceTable> read_tables(std::string_view text, std::string_view path,
                                                   TableFormat format = TableFormat::automatic);

[[nodiscard]] std::vector<SourceTable> read_markdown_tables(std::string_view text);
[[nodiscard]] std::vector<SourceTable> read_html_tables(std::string_view text);

/// RFC 4180 with ',', ';' or TAB, whichever the first lines agree on. Beyond the RFC: '#' lines
/// are context, and blank lines part several tables of one file.
[[nodiscard]] std::vector<SourceTable> read_csv_tables(std::string_view text);

/// &amp; &#39; &#x27; &nbsp; and the other entities seen in tables; unknown ones stay.
[[nodiscard]] std::string decode_entities(std::string_view text);

}  // namespace bertbench::audit
