#include <algorithm>
#include <cctype>

#include "parsers/core/text.h"
#include "reports/audit/source_table.h"

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

std::vector<SourceTable> markdown_with_html(std::string_view text) {
  std::vector<SourceTable> tables = read_markdown_tables(text);
  if (text.find("<table") != std::string_view::npos ||
      text.find("<TABLE") != std::string_view::npos) {
    for (SourceTable& table : read_html_tables(text)) tables.push_back(std::move(table));
    std::stable_sort(tables.begin(), tables.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
  }
  return tables;
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

std::vector<SourceTable> read_tables(std::string_view text, std::string_view path,
                                     TableFormat format) {
  if (format == TableFormat::automatic) {
    if (ends_with(path, ".csv") || ends_with(path, ".tsv")) format = TableFormat::csv;
    if (ends_with(path, ".html") || ends_with(path, ".htm")) format = TableFormat::html;
    if (ends_with(path, ".md") || ends_with(path, ".markdown")) format = TableFormat::markdown;
  }
  switch (format) {
    case TableFormat::markdown:
      return markdown_with_html(text);
    case TableFormat::html:
      return read_html_tables(text);
    case TableFormat::csv:
      return read_csv_tables(text);
    case TableFormat::automatic:
      break;
  }
  // Pipes with an alignment row and <table> are unmistakable; anything has commas.
  std::vector<SourceTable> tables = markdown_with_html(text);
  return tables.empty() ? read_csv_tables(text) : tables;
}

}  // namespace bertbench::audit
