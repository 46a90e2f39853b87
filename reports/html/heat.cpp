// The heat map: a table, so that it reads well without colour and without script.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/html/sections.h"
#include "reports/markup.h"
#include "reports/present.h"

namespace bertbench::html {
namespace {

constexpr std::size_t kMostMaps = 8;

}  // namespace

std::string heat_section(const ResultSet& set) {
  std::vector<std::int64_t> batches;
  std::vector<std::pair<std::int64_t, std::string>> topologies;
  for (const Cell& cell : set.cells) {
    const Identity& id = cell.identity;
    if (!id.micro_batch_size || !id.world_size()) continue;
    batches.push_back(*id.micro_batch_size);
    topologies.emplace_back(*id.world_size(), topology_text(id));
  }
  for (auto* list : {&batches}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  std::ranges::sort(topologies);
  topologies.erase(std::unique(topologies.begin(), topologies.end()), topologies.end());
  if (batches.size() < 2 || topologies.size() < 2 || batches.size() > 40 ||
      topologies.size() > 40) {
    return {};
  }
  // One map for each of the other facts.
  std::map<std::string, std::vector<const Cell*>> maps;
  for (const Cell& cell : set.cells) {
    if (!cell.identity.micro_batch_size || !cell.identity.world_size()) continue;
    Identity rest = cell.identity;
    rest.nodes.reset();
    rest.gpus_per_node.reset();
    rest.micro_batch_size.reset();
    maps[rest.key()].push_back(&cell);
  }
  std::string out =
      "<section><h2>Batch and topology</h2>\n<p class=\"small\">Sequences/s per GPU; "
      "the darker, the faster. A failed cell says how it failed.</p><div class=\"plots\">";
  std::size_t shown = 0;
  for (const auto& [rest, cells] : maps) {
    if (cells.size() < 4 || ++shown > kMostMaps) continue;
    double top = 0;
    for (const Cell* cell : cells)
      top = std::max(top, cell->sequences_per_second_per_gpu.value_or(0));
    out += "<table class=\"heat\"><caption>" + escape_markup(rest) + "</caption><tr><th>batch</th>";
    for (const auto& topology : topologies)
      out += "<th>" + escape_markup(topology.second) + "</th>";
    out += "</tr>\n";
    for (const std::int64_t batch : batches) {
      out += fmt::format("<tr><th>{}</th>", batch);
      for (const auto& topology : topologies) {
        const auto found = std::ranges::find_if(cells, [&](const Cell* cell) {
          return *cell->identity.micro_batch_size == batch &&
                 topology_text(cell->identity) == topology.second;
        });
        if (found == cells.end()) {
          out += "<td></td>";
        } else if (const auto rate = (*found)->sequences_per_second_per_gpu; rate && top > 0) {
          out +=
              fmt::format("<td style=\"--heat:{:.2f}\">{}</td>", *rate / top, number_text(*rate));
        } else {
          out += "<td class=\"bad\">" + escape_markup(failures_text(**found)) + "</td>";
        }
      }
      out += "</tr>\n";
    }
    out += "</table>\n";
  }
  return shown == 0 ? std::string() : out + "</div></section>\n";
}

}  // namespace bertbench::html
