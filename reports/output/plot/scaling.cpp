#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/output/cell_table.h"
#include "reports/output/plot/figures.h"
#include "reports/output/plot/groups.h"
#include "reports/output/value_text.h"

namespace bertbench::plot {
namespace {

constexpr std::size_t kMostFamilies = 400;  // that a reader can choose from

using Family = CellGroup;  // cells that differ in nothing but their number of GPUs, fewest first

double gpus(const Cell& cell) { return static_cast<double>(*cell.identity.world_size()); }

std::vector<Family> families_of(const ResultSet& set) {
  return groups_of(
      set, [](const Cell& cell) { return cell.identity.world_size() && cell.throughput.median; },
      [](Identity& identity) { identity.nodes = identity.gpus_per_node = std::nullopt; },
      [](Family& family) {
        std::ranges::sort(family.cells, {}, [](const Cell* c) { return gpus(*c); });
        return gpus(*family.cells.front()) < gpus(*family.cells.back());
      });
}

/// The axis of GPUs. Doublings up to large jobs want logarithms, where the ideal stays straight.
Axis gpu_axis(const std::vector<Family>& families, const char* label) {
  std::vector<double> counts;
  for (const Family& family : families) {
    for (const Cell* cell : family.cells) counts.push_back(gpus(*cell));
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  Axis axis;
  axis.label = label;
  axis.ticks = counts;
  if (counts.back() / counts.front() > 4) {
    axis.scale = Scale::log2;
    axis.low = counts.front() / 1.25;
    axis.high = counts.back() * 1.25;
  } else {
    axis.high = counts.back() * 1.15;
  }
  return axis;
}

/// Range of the rates of all families together; an ideal far above them does not flatten them.
Axis rate_axis(const std::vector<Family>& families, const std::string& label, Scale scale,
               double most) {
  double top = 0, bottom = INFINITY, ideal = 0;
  for (const Family& family : families) {
    const Cell& base = *family.cells.front();
    ideal = std::max(ideal, *base.throughput.median * most / gpus(base));
    for (const Cell* cell : family.cells) {
      top = std::max(top, *cell->throughput.median);
      bottom = std::min(bottom, *cell->throughput.median);
      for (const Trial& trial : cell->trials) {
        if (trial.counts()) top = std::max(top, *trial.sequences_per_second);
      }
    }
  }
  Axis axis;
  axis.label = label;
  axis.high = std::max(top, std::min(ideal, 1.6 * top)) * 1.06;
  if (scale == Scale::log2 && bottom > 0) {
    axis.scale = scale;
    axis.low = bottom / 1.3;
    axis.ticks = decade_ticks(axis.low, axis.high);
  }
  return axis;
}

std::string tip(const Cell& cell, double value) {
  return fmt::format("{}: {} {}", topology_text(cell.identity), number_text(value),
                     cell.throughput.unit);
}

Series ideal_of(const Family& family, const Axis& x, const Axis& y, int colour) {
  const Cell& base = *family.cells.front();
  const double rate = *base.throughput.median, from = gpus(base);
  const double to = std::max(from, std::min(x.high, from * y.high / rate));
  Series series{"", colour, Mark::dashed, {}};
  // Two points would do on equal scales; a rate axis may be linear beside logarithmic GPUs.
  constexpr int kSteps = 24;
  for (int i = 0; i <= kSteps; ++i) {
    const double at = from * std::pow(to / from, static_cast<double>(i) / kSteps);
    series.points.push_back({at, rate * at / from, {}, {}});
  }
  return series;
}

void add_rates(const Family& family, int colour, Figure& figure) {
  figure.series.push_back(ideal_of(family, figure.x, figure.y, colour));
  Series trials{"", colour, Mark::faint_points, {}};
  Series medians{family.name, colour, Mark::line_and_points, {}};
  for (const Cell* cell : family.cells) {
    for (const Trial& trial : cell->trials) {
      if (!trial.counts()) continue;
      trials.points.push_back(
          {gpus(*cell) * 1.05,
           *trial.sequences_per_second,
           {},
           fmt::format("trial {} of {}", trial.trial, tip(*cell, *trial.sequences_per_second))});
    }
    Point point{gpus(*cell), *cell->throughput.median, {}, tip(*cell, *cell->throughput.median)};
    if (const auto shown = shown_interval(*cell)) {
      point.interval = {shown->interval.low, shown->interval.high};
      point.tip += fmt::format(", {} to {}", number_text(shown->interval.low),
                               number_text(shown->interval.high));
    }
    medians.points.push_back(std::move(point));
  }
  figure.series.push_back(std::move(trials));
  figure.series.push_back(std::move(medians));
}

Series efficiencies(const Family& family, int colour) {
  Series series{family.name, colour, Mark::line_and_points, {}};
  for (const Cell* cell : family.cells) {
    if (!cell->scaling_efficiency) continue;
    series.points.push_back(
        {gpus(*cell),
         *cell->scaling_efficiency,
         {},
         topology_text(cell->identity) + ": " + percent_text(*cell->scaling_efficiency)});
  }
  return series;
}

/// Throughput and, where it is known, efficiency of some families; `number` where they are not all.
std::vector<Figure> figures_of(const std::vector<Family>& families, const std::string& rate_label,
                               const char* gpu_label, const std::string& number) {
  Figure rate;
  rate.id = "throughput" + number;
  rate.title = "Throughput of the whole job: median, interval, trials; dashed: ideal from the base";
  rate.x = gpu_axis(families, gpu_label);
  double most = 0;
  for (const Family& family : families) most = std::max(most, gpus(*family.cells.back()));
  rate.y = rate_axis(families, rate_label, rate.x.scale, most);

  Figure efficiency;
  efficiency.id = "efficiency" + number;
  efficiency.title = "Scaling efficiency: speedup over the ratio of GPUs";
  efficiency.x = rate.x;
  efficiency.references.push_back({1, "ideal"});
  double top = 1.1;
  bool any = false;
  for (std::size_t i = 0; i < families.size(); ++i) {
    add_rates(families[i], static_cast<int>(i), rate);
    efficiency.series.push_back(efficiencies(families[i], static_cast<int>(i)));
    for (const Point& point : efficiency.series.back().points) {
      top = std::max(top, point.y * 1.05);
      any = true;
    }
  }
  efficiency.y.label = "efficiency";
  efficiency.y.high = top;
  efficiency.y.percent = true;
  std::vector<Figure> out{std::move(rate)};
  if (any) out.push_back(std::move(efficiency));
  return out;
}

}  // namespace

std::vector<std::vector<Figure>> scaling_figures(const ResultSet& set) {
  const std::vector<Family> families = families_of(set);
  const Provenance made = provenance(set);
  const char* gpu_label = made.simulated  ? "simulated GPUs"
                          : made.emulated ? "ranks (each stands in for a GPU)"
                                          : "GPUs";
  // As many series a figure as there are colours.
  std::vector<std::vector<Figure>> out;
  const std::size_t last = std::min(families.size(), kMostFamilies);
  for (std::size_t from = 0; from < last; from += kColours) {
    const auto end = std::min<std::size_t>(from + kColours, last);
    const std::vector<Family> some(families.begin() + static_cast<std::ptrdiff_t>(from),
                                   families.begin() + static_cast<std::ptrdiff_t>(end));
    const std::string number = from == 0 ? "" : fmt::format("-{}", from / kColours + 1);
    out.push_back(figures_of(some, rate_heading(set), gpu_label, number));
    if (families.size() <= kColours) break;
    for (Figure& figure : out.back()) {
      figure.title += fmt::format(" (series {} to {} of {})", from + 1, end, families.size());
    }
  }
  return out;
}

}  // namespace bertbench::plot
