#include <fmt/format.h>

#include "reports/output/html/sections.h"
#include "reports/output/markup.h"

namespace bertbench::html {
namespace {

constexpr std::size_t kFirstRows = 300;
constexpr std::size_t kWrapped = 40;  // longer text breaks into lines

std::string cell_of(const TableColumn& column, const std::string& text) {
  const char* css = column.right             ? " class=\"right\""
                    : text.size() > kWrapped ? " class=\"wrap\""
                                             : "";
  return fmt::format("<td{}>{}</td>", css, escape_markup(text));
}

}  // namespace

std::string sortable_table(const SortableTable& what) {
  const Table& table = what.table;
  // Without the script there is nothing that a box could filter, so it is hidden.
  std::string out = fmt::format(
      "<p class=\"filter\" data-filter=\"{0}\" hidden><label>Filter <input type=\"search\" "
      "placeholder=\"words of a row\"></label> <output></output></p>\n"
      "<div class=\"scroll\"><table class=\"sortable\" id=\"{0}\"><thead><tr>",
      what.id);
  for (const TableColumn& column : table.columns) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.right ? " class=\"right\"" : "",
                       escape_markup(column.heading));
  }
  out += "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (r == kFirstRows) out += "</tbody><tbody hidden>\n";
    out += r < what.failed.size() && what.failed[r] ? "<tr class=\"failed\"" : "<tr";
    if (r < what.titles.size()) out += " title=\"" + escape_markup(what.titles[r]) + "\"";
    out += ">";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      out += cell_of(table.columns[c], c < table.rows[r].size() ? table.rows[r][c] : std::string());
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  if (table.rows.size() > kFirstRows) {
    out += fmt::format(
        "<button class=\"more\" type=\"button\" data-more=\"{}\">Show all {} {}</button>"
        "<noscript><style>tbody[hidden]{{display:table-row-group}}</style></noscript>\n",
        what.id, table.rows.size(), what.noun);
  }
  return out;
}

}  // namespace bertbench::html
