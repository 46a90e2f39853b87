#include <algorithm>
#include <cctype>

#include "parsers/core/text.h"
#include "reports/studies/audit/printed.h"
#include "reports/studies/audit/source_table.h"

namespace bertbench::audit {
namespace {

struct Entity {
  std::string_view name, text;
};
constexpr Entity kEntities[] = {
    {"amp", "&"},           {"lt", "<"},     {"gt", ">"},     {"quot", "\""},
    {"apos", "'"},          {"nbsp", " "},   {"thinsp", " "}, {"times", "\xC3\x97"},
    {"plusmn", "\xC2\xB1"}, {"minus", "-"},  {"ndash", "-"},  {"mdash", "-"},
    {"percnt", "%"},        {"divide", "/"}, {"approx", "~"}, {"asymp", "~"}};

bool ends_with(std::string_view path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  const std::string_view tail = path.substr(path.size() - ending.size());
  return std::equal(tail.begin(), tail.end(), ending.begin(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

void sort_by_line(std::vector<SourceTable>& tables) {
  std::stable_sort(tables.begin(), tables.end(),
                   [](const auto& a, const auto& b) { return a.line < b.line; });
}

void append(std::vector<SourceTable>& to, std::vector<SourceTable> more) {
  for (SourceTable& table : more) to.push_back(std::move(table));
}

std::vector<SourceTable> markdown_with_html(std::string_view text) {
  std::vector<SourceTable> tables = read_markdown_tables(text);
  if (text.find("<table") != std::string_view::npos ||
      text.find("<TABLE") != std::string_view::npos) {
    append(tables, read_html_tables(text));
    sort_by_line(tables);
  }
  return tables;
}

// Adds what stands outside of the tables that are there.
void add_pasted(std::string_view text, const std::vector<std::string>& names, Page& page) {
  std::vector<LineSpan> taken;
  for (const SourceTable& table : page.tables) {
    taken.push_back({table.line, table.rows.back().line});
  }
  Page pasted = read_pasted_tables(text, names, taken);
  append(page.tables, std::move(pasted.tables));
  append(page.tables, read_record_tables(text));
  sort_by_line(page.tables);
  page.notices = std::move(pasted.notices);
}

// "1,058.6", "95%", "7.9x"; not "2 of them".
bool is_plain_number(std::string_view cell) {
  return cell.find_first_not_of("0123456789.,%+-eExKM ") == std::string_view::npos &&
         !parse_numbers(cell, NumberStyle{}).empty();
}

bool holds_number(const std::vector<std::string>& cells) {
  return std::any_of(cells.begin(), cells.end(), is_plain_number);
}

// Anything has commas. In text that no name calls a table, each row must have as many cells as the
// heading, whose cells are names, and each must hold a number.
bool is_plainly_csv(const SourceTable& table) {
  const auto& heading = table.rows.front().cells;
  if (holds_number(heading)) return false;
  for (const std::string& cell : heading) {
    constexpr std::size_t kLongestName = 80;  // bytes; more is a sentence
    if (cell.size() > kLongestName) return false;
  }
  return std::all_of(table.rows.begin() + 1, table.rows.end(), [&](const SourceRow& row) {
    return row.cells.size() == heading.size() && holds_number(row.cells);
  });
}

}  // namespace

std::string decode_entities(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto end = text[at] == '&' ? text.substr(at, 12).find(';') : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[at];
      continue;
    }
    const std::string_view name = text.substr(at + 1, end - 1);
    bool known = false;
    if (name.size() > 1 && name[0] == '#') {
      const bool hex = name[1] == 'x' || name[1] == 'X';
      unsigned code = 0;
      known = name.size() > (hex ? 2U : 1U);
      for (const char c : name.substr(hex ? 2 : 1)) {
        const bool digit = c >= '0' && c <= '9';
        const int letter = std::tolower(static_cast<unsigned char>(c)) - 'a';
        if (!digit && !(hex && letter >= 0 && letter < 6)) known = false;
        code = code * (hex ? 16U : 10U) + static_cast<unsigned>(digit ? c - '0' : letter + 10);
      }
      known = known && code > 0 && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
      if (known) append_utf8(out, code == 0xA0 ? ' ' : code);
    } else {
      for (const Entity& entity : kEntities) {
        if (entity.name == name) {
          out += entity.text;
          known = true;
        }
      }
    }
    if (known) {
      at += end;
    } else {
      out += '&';
    }
  }
  return out;
}

Page read_page(std::string_view text, std::string_view path, const PageOptions& options) {
  TableFormat format = options.format;
  bool pasted_too = false;
  if (format == TableFormat::automatic) {
    if (ends_with(path, ".csv") || ends_with(path, ".tsv")) format = TableFormat::csv;
    if (ends_with(path, ".html") || ends_with(path, ".htm")) format = TableFormat::html;
    if (ends_with(path, ".md") || ends_with(path, ".markdown")) {
      format = TableFormat::markdown;
      pasted_too = true;  // a README also shows what programs print
    }
  }
  Page page;
  switch (format) {
    case TableFormat::markdown:
      page.tables = markdown_with_html(text);
      if (pasted_too) add_pasted(text, options.names, page);
      return page;
    case TableFormat::html:
      page.tables = read_html_tables(text);
      return page;
    case TableFormat::csv:
      page.tables = read_csv_tables(text);
      return page;
    case TableFormat::text:
      add_pasted(text, options.names, page);
      return page;
    case TableFormat::automatic:
      break;
  }
  // Pipes with an alignment row, <table> and known names are unmistakable; anything has commas.
  page.tables = markdown_with_html(text);
  add_pasted(text, options.names, page);
  if (page.tables.empty()) {
    page.tables = read_csv_tables(text);
    std::erase_if(page.tables, [](const SourceTable& table) { return !is_plainly_csv(table); });
  }
  return page;
}

std::vector<SourceTable> read_tables(std::string_view text, std::string_view path,
                                     TableFormat format) {
  return read_page(text, path, {format, {}}).tables;
}

}  // namespace bertbench::audit
