#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/cell_table.h"
#include "reports/html/plots.h"
#include "reports/html/svg.h"
#include "reports/markup.h"
#include "reports/present.h"

namespace bertbench::html {
namespace {

/// Cells that differ in nothing but their number of GPUs, fewest first.
struct Series {
  std::string name;
  std::vector<const Cell*> cells;
};

std::vector<Series> series_of(const ResultSet& set) {
  std::map<std::string, std::size_t> index;
  std::vector<Series> all;
  for (const Cell& cell : set.cells) {
    if (!cell.identity.world_size() || !cell.throughput.median) continue;
    Identity family = cell.identity;
    family.nodes.reset();
    family.gpus_per_node.reset();
    std::string key =
        family.framework.value_or("") + "|" + family.key() + "|" + std::string(name(cell.kind));
    const auto [found, added] = index.emplace(std::move(key), all.size());
    if (added) all.emplace_back();
    all[found->second].cells.push_back(&cell);
  }
  std::erase_if(all, [](const Series& one) { return one.cells.size() < 2; });
  // A series is named by what tells it from the others: the short names of its first cells.
  ResultSet first;
  for (Series& one : all) {
    std::ranges::sort(one.cells, {}, [](const Cell* c) { return *c->identity.world_size(); });
    first.cells.push_back(*one.cells.front());
    first.cells.back().identity.nodes.reset();
    first.cells.back().identity.gpus_per_node.reset();
  }
  const std::vector<std::string> names = short_names(first);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = all.size() == 1 ? first.cells[i].identity.model.value_or(names[i]) : names[i];
  }
  return all;
}

double gpus(const Cell& cell) { return static_cast<double>(*cell.identity.world_size()); }

std::string tip(const Cell& cell, double value) {
  return fmt::format("{}: {} {}", topology_text(cell.identity), number_text(value),
                     cell.throughput.unit);
}

}  // namespace

std::string scaling_section(const ResultSet& set) {
  std::vector<Series> all = series_of(set);
  if (all.empty()) return {};
  const std::size_t total = all.size();
  if (all.size() > kColours) all.resize(kColours);

  double most = 1, least = 1e18, top = 0;
  std::vector<double> counts;
  for (const Series& one : all) {
    for (const Cell* cell : one.cells) {
      most = std::max(most, gpus(*cell));
      least = std::min(least, gpus(*cell));
      counts.push_back(gpus(*cell));
      top = std::max(top, *cell->throughput.median);
      for (const Trial& trial : cell->trials) {
        if (trial.counts()) top = std::max(top, *trial.sequences_per_second);
      }
    }
    const Cell& base = *one.cells.front();
    top = std::max(top, std::min(1.6 * top, *base.throughput.median * most / gpus(base)));
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  // Doublings up to large jobs want logarithms on both axes, where the ideal stays a straight line.
  const bool logarithms = most / least > 4;
  double bottom = top;
  for (const Series& one : all) {
    for (const Cell* cell : one.cells) bottom = std::min(bottom, *cell->throughput.median);
  }
  const bool emulated = std::ranges::any_of(set.cells, [](const Cell& c) { return c.emulated; });
  const std::string label = emulated ? "ranks (each stands in for a GPU)" : "GPUs";
  const Axis x = logarithms ? Axis{label, least / 1.25, most * 1.25, Scale::log2, counts, false}
                            : Axis{label, 0, most * 1.15, Scale::linear, counts, false};
  Axis y{rate_heading(set), 0, top * 1.06, Scale::linear, {}, false};
  if (logarithms) {
    y.scale = Scale::log2;
    y.low = bottom / 1.3;
    double decade = std::pow(10, std::floor(std::log10(y.low)));
    for (; decade <= y.high; decade *= 10) {
      for (const double digit : {1.0, 2.0, 5.0}) y.ticks.push_back(digit * decade);
    }
  }

  Plot rate("Throughput of the whole job: median, interval, trials; dashed: ideal from the base", x,
            y);
  double efficiency_top = 1.1, efficiency_low = 0;
  for (const Series& one : all) {
    for (const Cell* cell : one.cells) {
      efficiency_top = std::max(efficiency_top, cell->scaling_efficiency.value_or(0) * 1.05);
    }
  }
  Plot efficiency("Scaling efficiency: speedup over the ratio of GPUs", x,
                  Axis{"efficiency", efficiency_low, efficiency_top, Scale::linear, {}, true});
  efficiency.reference(1, "ideal");

  std::vector<std::string> names;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const int colour = static_cast<int>(s);
    names.push_back(all[s].name);
    const Cell& base = *all[s].cells.front();
    const double ideal_end = std::min(most, gpus(base) * top * 1.06 / *base.throughput.median);
    std::vector<double> ideal_x, ideal_y;
    for (double g = gpus(base); g < ideal_end * 1.0001; g *= 1.05) {
      ideal_x.push_back(std::min(g, ideal_end));
      ideal_y.push_back(*base.throughput.median * ideal_x.back() / gpus(base));
    }
    if (ideal_x.empty() || ideal_x.back() < ideal_end) {
      ideal_x.push_back(ideal_end);
      ideal_y.push_back(*base.throughput.median * ideal_end / gpus(base));
    }
    rate.line(ideal_x, ideal_y, colour, "dashed");
    std::vector<double> xs, medians, effs;
    for (const Cell* cell : all[s].cells) {
      xs.push_back(gpus(*cell));
      medians.push_back(*cell->throughput.median);
      effs.push_back(cell->scaling_efficiency.value_or(kUnknown));
    }
    rate.line(xs, medians, colour);
    efficiency.line(xs, effs, colour);
    for (const Cell* cell : all[s].cells) {
      for (const Trial& trial : cell->trials) {
        if (!trial.counts()) continue;
        rate.point(
            gpus(*cell) * 1.05, *trial.sequences_per_second, colour, 2.2,
            fmt::format("trial {} of {}", trial.trial, tip(*cell, *trial.sequences_per_second)),
            "faint");
      }
      if (const auto shown = shown_interval(*cell)) {
        rate.interval(gpus(*cell), shown->interval.low, shown->interval.high, colour);
      }
      rate.point(gpus(*cell), *cell->throughput.median, colour, 4,
                 tip(*cell, *cell->throughput.median));
      if (cell->scaling_efficiency) {
        efficiency.point(
            gpus(*cell), *cell->scaling_efficiency, colour, 4,
            topology_text(cell->identity) + ": " + percent_text(*cell->scaling_efficiency));
      }
    }
  }
  std::string out = "<section><h2>Scaling</h2>\n" + legend(names);
  if (total > all.size()) {
    out += fmt::format("<p class=\"small\">The first {} of {} series; the table has all.</p>",
                       all.size(), total);
  }
  return out + "<div class=\"plots\">" + rate.svg() + efficiency.svg() + "</div></section>\n";
}

}  // namespace bertbench::html
