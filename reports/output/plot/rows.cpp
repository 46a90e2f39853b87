// Figures with a row a cell: trials against their median, estimators against the total, changes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "reports/output/cell_table.h"
#include "reports/output/plot/figures.h"
#include "reports/output/value_text.h"

namespace bertbench::plot {
namespace {

constexpr std::size_t kMostRows = 40;

/// The x axis of differences: symmetric around 0, at least 1 %, at most -100 % .. +100 %.
Axis difference_axis(const Figure& figure, const std::string& label) {
  double widest = 0.01;
  for (const Series& series : figure.series) {
    for (const Point& point : series.points) {
      widest = std::max(widest, std::fabs(point.x));
      if (point.interval) {
        widest =
            std::max({widest, std::fabs(point.interval->first), std::fabs(point.interval->second)});
      }
    }
  }
  widest = std::min(widest * 1.1, 1.0);
  Axis axis;
  axis.label = label;
  axis.low = -widest;
  axis.high = widest;
  axis.ticks = nice_ticks(-widest, widest, 6);
  axis.percent = true;
  return axis;
}

/// An axis of differences that lie on one side need not show the other.
void drop_empty_side(const Figure& figure, Axis& axis) {
  double low = 0, high = 0;
  for (const Series& series : figure.series) {
    for (const Point& point : series.points) {
      low = std::min(low, point.x);
      high = std::max(high, point.x);
    }
  }
  if (low > -0.1 * high) axis.low = std::max(axis.low, std::min(1.3 * low, -0.02 * axis.high));
  if (high < -0.1 * low) axis.high = std::min(axis.high, std::max(1.3 * high, -0.02 * axis.low));
  axis.ticks = nice_ticks(axis.low, axis.high, 6);
}

void finish(Figure& figure, const std::string& label, double row_height) {
  figure.x = difference_axis(figure, label);
  figure.references.push_back({0, "no difference"});
  figure.width = 900;
  figure.height = static_cast<int>(74 + row_height * static_cast<double>(figure.y.rows.size()));
}

std::string capped(std::size_t shown, std::size_t all) {
  return shown == all ? std::string() : fmt::format(" (the first {} of {} cells)", shown, all);
}

/// The bars of one row, each with the name of its series.
using NamedPoints = std::vector<std::pair<std::string, Point>>;

/// A series for each name, in the order in which they come; within a row they share its height.
std::vector<Series> side_by_side(const std::vector<NamedPoints>& rows) {
  std::vector<std::string> kinds;
  for (const NamedPoints& row : rows) {
    for (const auto& [kind, point] : row) {
      if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
  }
  std::vector<Series> out;
  const double step = 0.8 / static_cast<double>(kinds.size());
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    Series& series = out.emplace_back(Series{kinds[k], static_cast<int>(k), Mark::bars, {}});
    for (const NamedPoints& row : rows) {
      for (const auto& [kind, point] : row) {
        if (kind != kinds[k]) continue;
        series.points.push_back(point);
        series.points.back().y += step * (static_cast<double>(k) + 0.5) - 0.4;
      }
    }
  }
  return out;
}

}  // namespace

std::optional<Figure> trials_figure(const ResultSet& set) {
  const std::vector<std::string> names = short_names(set);
  Figure figure;
  figure.id = "trials";
  Series series{"", 0, Mark::points, {}};
  std::size_t all = 0;
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Cell& cell = set.cells[i];
    if (cell.throughput.n < 2 || !cell.throughput.median || *cell.throughput.median <= 0) continue;
    if (++all > kMostRows) continue;
    for (const Trial& trial : cell.trials) {
      if (!trial.counts()) continue;
      const double offset = *trial.sequences_per_second / *cell.throughput.median - 1;
      series.points.push_back({offset,
                               static_cast<double>(figure.y.rows.size()),
                               {},
                               fmt::format("trial {}: {} {} ({:+.2f} %)", trial.trial,
                                           number_text(*trial.sequences_per_second),
                                           cell.throughput.unit, offset * 100)});
    }
    figure.y.rows.push_back(names[i]);
  }
  if (figure.y.rows.empty()) return std::nullopt;
  figure.title = "Every trial against the median of its cell" + capped(figure.y.rows.size(), all);
  figure.series.push_back(std::move(series));
  finish(figure, "difference from the median", 22);
  return figure;
}

std::optional<Figure> reconciliation_figure(const ResultSet& set) {
  const std::vector<std::string> names = short_names(set);
  constexpr std::string_view kTotal = "total_time";
  Figure figure;
  figure.id = "reconciliation";
  std::size_t all = 0;
  bool by_total = false, by_used = false;
  std::vector<NamedPoints> rows;
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Cell& cell = set.cells[i];
    const auto trial = std::ranges::find_if(
        cell.trials, [](const Trial& t) { return t.counts() && t.estimators.size() > 1; });
    if (trial == cell.trials.end()) continue;
    const auto total = trial->estimators.find(std::string(kTotal));
    const bool has_total = total != trial->estimators.end() && total->second > 0;
    const double base = has_total ? total->second : *trial->sequences_per_second;
    if (!(base > 0)) continue;
    if (++all > kMostRows) continue;
    (has_total ? by_total : by_used) = true;
    auto& row = rows.emplace_back();
    for (const auto& [estimator, value] : trial->estimators) {
      if (has_total && estimator == kTotal) continue;
      const double offset = value / base - 1;
      row.emplace_back(estimator,
                       Point{offset,
                             static_cast<double>(figure.y.rows.size()),
                             {},
                             fmt::format("{}: {} {} ({:+.2f} % against {})", estimator,
                                         number_text(value), cell.throughput.unit, offset * 100,
                                         has_total ? std::string(kTotal) : trial->estimator)});
    }
    figure.y.rows.push_back(row_name(names[i], *trial));
  }
  if (rows.empty()) return std::nullopt;
  figure.series = side_by_side(rows);
  const char* against = !by_used ? "all work over all time"
                        : !by_total
                            ? "the one that was used"
                            : "all work over all time, or the one used where that is unknown";
  figure.title = fmt::format("Every estimate of a log against {}; one trial a cell{}", against,
                             capped(figure.y.rows.size(), all));
  finish(figure, "difference", std::max(22.0, 10.0 * static_cast<double>(figure.series.size())));
  drop_empty_side(figure, figure.x);
  return figure;
}

std::optional<Figure> comparison_figure(const std::vector<CellComparison>& cells,
                                        const ResultSet& set) {
  const std::vector<std::string> names = short_names(set);
  std::map<std::string_view, std::string_view> name_of;
  for (std::size_t i = 0; i < names.size(); ++i) name_of.emplace(set.cells[i].key, names[i]);
  std::vector<const CellComparison*> shown;
  for (const CellComparison& cell : cells) {
    if (cell.change) shown.push_back(&cell);
  }
  if (shown.empty()) return std::nullopt;
  const std::size_t all = shown.size();
  std::string which;
  if (all > kMostRows) {
    std::ranges::stable_sort(shown, std::greater<>(),
                             [](const CellComparison* c) { return std::fabs(*c->change); });
    shown.resize(kMostRows);
    which = fmt::format(" (the {} largest changes of {} cells)", kMostRows, all);
  }
  Figure figure;
  figure.id = "comparison";
  figure.title = "Change of each cell with its interval; right of 0 is faster" + which;
  Series slower{"slower", 1, Mark::points, {}}, faster{"faster", 2, Mark::points, {}},
      same{"no significant change", 7, Mark::points, {}};
  for (const CellComparison* cell : shown) {
    Point point{*cell->change, static_cast<double>(figure.y.rows.size()), {}, {}};
    point.tip = fmt::format("{}: {:+.2f} %", cell->key, *cell->change * 100);
    if (cell->interval) {
      point.interval = {cell->interval->low, cell->interval->high};
      point.tip += fmt::format(", {:+.2f} % to {:+.2f} %", cell->interval->low * 100,
                               cell->interval->high * 100);
    }
    if (cell->p) point.tip += fmt::format(", p = {:.3g}", *cell->p);
    Series& series = !cell->significant ? same : *cell->change < 0 ? slower : faster;
    series.points.push_back(std::move(point));
    const auto known = name_of.find(cell->key);
    figure.y.rows.emplace_back(known == name_of.end() ? cell->key : known->second);
  }
  for (Series* series : {&slower, &faster, &same}) {
    if (!series->points.empty()) figure.series.push_back(std::move(*series));
  }
  finish(figure, "change from A to B", 22);
  return figure;
}

}  // namespace bertbench::plot
