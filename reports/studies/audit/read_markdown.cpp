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
  while (!line.empty() && line.front() == '>') line = trim(line.substr(1));  // block quote
  if (!line.empty() && line.front() == '|') line.remove_prefix(1);
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
      const bool tag =
          cell[at] == '<' && at + 1 < cell.size() &&
          (std::isalpha(static_cast<unsigned char>(cell[at + 1])) || cell[at + 1] == '/');
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

bool is_alignment_row(std::string_view line) {
  line = trim(line);
  bool dash = false, pipe = false;
  for (const char c : line) {
    if (c == '-')
      dash = true;
    else if (c == '|')
      pipe = true;
    else if (c != ':' && c != ' ' && c != '\t' && c != '>')
      return false;
  }
  return dash && pipe;
}

bool has_pipe(std::string_view line) { return line.find('|') != std::string_view::npos; }

// "## Batch size = 64" -> level 2; a line that is only bold text counts as level 7.
int heading_level(std::string_view line, std::string& text) {
  line = trim(line);
  int level = 0;
  while (!line.empty() && line.front() == '#') {
    ++level;
    line.remove_prefix(1);
  }
  if (level > 0 && level <= 6 && (line.empty() || line.front() == ' ')) {
    line = trim(line);
    while (!line.empty() && line.back() == '#') line.remove_suffix(1);
    text = std::string(trim(line));
    return level;
  }
  if (level == 0 && line.size() > 4 && line.substr(0, 2) == "**" &&
      line.substr(line.size() - 2) == "**") {
    text = std::string(trim(line.substr(2, line.size() - 4)));
    return 7;
  }
  return 0;
}

// The rest of a row that was broken where a cell begins: "c |" after "| a | b |" of a table of
// three columns. Asked where rows begin with a pipe.
bool goes_on(const SourceTable& table, std::string_view line, const std::vector<std::string>& row) {
  line = trim(line);
  if (table.rows.size() < 2 || line.front() == '|' || line.back() != '|') return false;
  const std::size_t before = table.rows.back().cells.size();
  return before + row.size() == table.rows.front().cells.size();
}

}  // namespace

std::vector<SourceTable> read_markdown_tables(std::string_view text) {
  std::vector<SourceTable> tables;
  std::string headings[8];
  std::string above;  // the last line of prose since the last heading or table
  std::size_t cells = 0;
  bool fenced = false;
  Lines at(text);
  while (tables.size() < kMaxTables && at.next()) {
    const std::string_view line = trim(at.text);
    if (line.substr(0, 3) == "```" || line.substr(0, 3) == "~~~") {
      fenced = !fenced;
      continue;
    }
    if (fenced || line.empty()) continue;
    std::string heading;
    if (const int level = heading_level(line, heading); level > 0) {
      headings[level] = heading;
      std::fill(headings + level + 1, headings + 8, std::string());
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
      if (line.front() == '|' && goes_on(table, ahead.text, row)) {
        auto& broken = table.rows.back().cells;
        broken.insert(broken.end(), row.begin(), row.end());
      } else {
        table.rows.push_back({ahead.number, std::move(row), {}});
      }
      at = ahead;
    }
    above.clear();
    if (table.rows.size() >= 2) tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace bertbench::audit
