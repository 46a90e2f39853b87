#include <algorithm>
#include <charconv>

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

void sort_by_line(std::vector<SourceTable>& tables) {
  std::stable_sort(tables.begin(), tables.end(),
                   [](const auto& a, const auto& b) { return a.line < b.line; });
}

void append(std::vector<SourceTable>& to, std::vector<SourceTable> more) {
  for (SourceTable& table : more) to.push_back(std::move(table));
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
    const auto* const known = std::ranges::find(kEntities, name, &Entity::name);
    if (known != std::end(kEntities)) {
      out += known->text;
      at += end;
      continue;
    }
    const bool hex = name.starts_with("#x") || name.starts_with("#X");
    const std::string_view digits = name.substr(std::min<std::size_t>(hex ? 2 : 1, name.size()));
    std::uint32_t code = 0;
    const auto read =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
    const bool whole = read.ptr == digits.data() + digits.size();
    if (name.starts_with('#') && whole && code > 0 && code <= 0x10FFFF &&
        (code < 0xD800 || code > 0xDFFF)) {
      append_utf8(out, code == 0xA0 ? ' ' : code);
      at += end;
    } else {
      out += '&';
    }
  }
  return out;
}

Page read_page(std::string_view text, std::string_view path, const PageOptions& options) {
  TableFormat format = options.format;
  const std::string name = lower(path);
  const bool automatic = format == TableFormat::automatic;
  if (automatic && (name.ends_with(".csv") || name.ends_with(".tsv"))) format = TableFormat::csv;
  if (automatic && (name.ends_with(".html") || name.ends_with(".htm"))) format = TableFormat::html;
  if (format == TableFormat::csv) return {read_csv_tables(text), {}};
  if (format == TableFormat::html) return {read_html_tables(text), {}};
  // Pipes with an alignment row, <table> and known names are unmistakable; anything has commas.
  Page page;
  if (format != TableFormat::text) {
    page.tables = read_markdown_tables(text);
    append(page.tables, read_html_tables(text));
    sort_by_line(page.tables);
  }
  if (format != TableFormat::markdown) add_pasted(text, options.names, page);
  if (format == TableFormat::automatic && page.tables.empty()) {
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
