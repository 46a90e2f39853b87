#include <algorithm>
#include <cctype>

#include "parsers/core/text.h"
#include "reports/studies/audit/lines.h"
#include "reports/studies/audit/source_table.h"

namespace bertbench::audit {
namespace {

// Cells between unescaped pipes. A leading and a trailing pipe are borders, not cells.
std::vector<std::string> cells_of(std::string_view line) {
  line = trim(line);
  if (line.starts_with('|')) line.remove_prefix(1);
  std::vector<std::string> cells(1);
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '\\' && at + 1 < line.size() &&
        std::ispunct(static_cast<unsigned char>(line[at + 1]))) {
      cells.back() += line[++at];
    } else if (c == '|') {
      if (at + 1 == line.size() || cells.size() == kMaxColumns) break;
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  for (std::string& cell : cells) {
    // <br> and <sup>1</sup> in cells: tags go, their text stays.
    std::string plain;
    std::size_t at = 0;
    while (at < cell.size()) {
      const char next = at + 1 < cell.size() ? cell[at + 1] : '\0';
      const bool tag = cell[at] == '<' && (is_letter(next) || next == '/');
      const auto end = tag ? cell.find('>', at) : std::string::npos;
      if (end != std::string::npos) {
        plain += ' ';
        at = end + 1;
      } else {
        plain += cell[at++];
      }
    }
    cell = std::string(trim(decode_entities(plain)));
  }
  return cells;
}

bool has_pipe(std::string_view line) { return line.find('|') != std::string_view::npos; }

bool is_alignment_row(std::string_view line) {
  return line.find_first_not_of("-|: \t") == std::string_view::npos && has_text(line, "-") &&
         has_pipe(line);
}

// "## Batch size = 64" -> level 2.
std::size_t heading_level(std::string_view line, std::string& text) {
  const std::size_t level = std::min(line.find_first_not_of('#'), line.size());
  line.remove_prefix(level);
  if (level > 6 || (!line.empty() && line.front() != ' ')) return 0;
  text = std::string(trim(line.substr(0, line.find_last_not_of('#') + 1)));
  return level;
}

}  // namespace

std::vector<SourceTable> read_markdown_tables(std::string_view text) {
  std::vector<SourceTable> tables;
  std::string headings[7];
  std::string above;  // the last line of prose since the last heading or table
  std::size_t cells = 0;
  bool fenced = false;
  Lines at(text);
  while (tables.size() < kMaxTables && at.next()) {
    const std::string_view line = trim(at.text);
    if (line.starts_with("```") || line.starts_with("~~~")) {
      fenced = !fenced;
      continue;
    }
    if (fenced || line.empty()) continue;
    std::string heading;
    if (const std::size_t level = heading_level(line, heading); level > 0) {
      headings[level] = heading;
      std::fill(headings + level + 1, std::end(headings), std::string());
      above.clear();
      continue;
    }
    Lines ahead = at;
    const bool table_here = has_pipe(line) && ahead.next() && is_alignment_row(ahead.text);
    if (!table_here) {
      above = std::string(line.substr(0, 400));
      continue;
    }
    SourceTable table;
    table.line = at.number;
    for (const std::string& each : headings) {
      if (!each.empty()) table.context.push_back(each);
    }
    if (!above.empty()) table.context.push_back(above);
    table.rows.push_back({at.number, cells_of(line), {}});
    at = ahead;
    while (cells < kMaxCells && ahead.next() && has_pipe(ahead.text)) {
      std::vector<std::string> row = cells_of(ahead.text);
      cells += row.size();
      table.rows.push_back({ahead.number, std::move(row), {}});
      at = ahead;
    }
    above.clear();
    if (table.rows.size() >= 2) tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace bertbench::audit
