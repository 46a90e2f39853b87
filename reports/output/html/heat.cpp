// The heat maps of the page, each with the same numbers as a table.
#include "reports/output/plot/heat.h"

#include <fmt/format.h>

#include "reports/output/html/sections.h"
#include "reports/output/markup.h"

namespace bertbench::html {
namespace {

std::string matrix(const plot::HeatMap& map) {
  const Table table = plot::heat_table(map);
  std::string out = fmt::format("<table class=\"matrix\"><caption>{}: {}</caption><thead><tr>",
                                escape_markup(map.title), map.unit);
  for (const TableColumn& column : table.columns) {
    out += "<th scope=\"col\" class=\"right\">" + escape_markup(column.heading) + "</th>";
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr><th scope=\"row\" class=\"right\">" + escape_markup(row.front()) + "</th>";
    for (std::size_t c = 1; c < row.size(); ++c) {
      out += "<td class=\"right\">" + escape_markup(row[c]) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

}  // namespace

std::string heat_section(const ResultSet& set) {
  const plot::HeatMaps found = plot::heat_maps(set);
  if (found.maps.empty()) return {};
  std::string body = small("The rate per " +
                           std::string(found.maps.front().unit.ends_with("rank") ? "rank" : "GPU") +
                           ": the lighter, the faster. Arrow keys go from tile to tile.");
  body += "<div class=\"plots\">";
  for (const plot::HeatMap& map : found.maps) {
    body += "<figure class=\"heat\" id=\"plot-" + map.id + "\"><div class=\"map\">" + plot::inline_svg(map) + "</div><figcaption>" +
            escape_markup(map.title) +
            "</figcaption><details><summary>As a table</summary><div class=\"scroll\">" +
            matrix(map) + "</div></details></figure>\n";
  }
  body += "</div>\n";
  if (found.all > found.maps.size()) {
    body += small(fmt::format("The first {} of {} maps; the table of cells has all numbers.",
                              found.maps.size(), found.all));
  }
  return section("Batch and topology", body);
}

}  // namespace bertbench::html
