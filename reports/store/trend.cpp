#include "reports/store/trend.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "parsers/core/text.h"
#include "reports/model/version.h"
#include "reports/output/html/sections.h"
#include "reports/output/value_text.h"
#include "reports/stats/change_points.h"
#include "reports/stats/summary.h"

namespace bertbench {

namespace {

std::vector<ContextDifference> machine_changes(const ResultSet& before, const ResultSet& now) {
  std::vector<ContextDifference> out = context_differences(*before.environment, *now.environment);
  std::erase_if(out, [](const ContextDifference& one) {
    return one.a.empty() || one.b.empty() || one.key == "bertbench";
  });
  return out;
}

}  // namespace

std::string machine_changes_text(const TrendPoint& point) {
  constexpr std::size_t kMostText = 60;  // of a value: lists of libraries are long
  std::string out;
  for (const auto& [key, a, b, blocking] : point.machine_changes) {
    const bool brief = a.size() <= kMostText && b.size() <= kMostText;
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", key,
                       brief ? fmt::format(" {} -> {}", a, b) : " changed");
  }
  return out;
}

std::vector<Trend> trends(std::span<const std::pair<StoredRun, ResultSet>> runs) {
  std::map<std::tuple<std::string, WorkKind, std::string, std::string>, Trend> by_cell;
  std::map<const Trend*, const ResultSet*> newest;
  for (const auto& [stored, results] : runs) {
    for (const Cell& cell : results.cells) {
      const CellSample sample = sample_of(cell);
      if (sample.values.empty()) continue;
      Trend& trend = by_cell[{cell.key, cell.kind, stored.machine, sample.unit}];
      trend.key = cell.key;
      trend.kind = cell.kind;
      trend.machine = stored.machine;
      trend.unit = sample.unit;
      trend.points.push_back(
          {stored, median(sample.values), static_cast<int>(sample.values.size()), {}});
      const ResultSet*& before = newest[&trend];
      if (before != nullptr) {
        trend.points.back().machine_changes = machine_changes(*before, results);
      }
      before = &results;
    }
  }
  std::vector<Trend> out;
  for (auto& [name, trend] : by_cell) {
    std::vector<double> series;
    for (const TrendPoint& point : trend.points) series.push_back(point.median);
    auto edges = change_points(without_spikes(series));
    edges.push_back(series.size());
    std::size_t begin = 0;
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
      const std::span<const double> all(series);
      const double before = median(all.subspan(begin, edges[i] - begin));
      const double after = median(all.subspan(edges[i], edges[i + 1] - edges[i]));
      trend.shifts.push_back({edges[i], before, after, after / before - 1});
      begin = edges[i];
    }
    out.push_back(std::move(trend));
  }
  return out;
}

namespace {

constexpr std::size_t kMostPlots = 40;

plot::Figure figure_of(const Trend& trend, std::size_t number) {
  plot::Figure figure;
  figure.id = fmt::format("trend-{}", number);
  figure.title = key_with_kind(trend.key, trend.kind) + ", " + trend.machine;
  figure.width = 420;
  figure.height = 230;
  figure.x.label = "stored run";
  figure.y.label = trend.unit;
  plot::Series medians{"median of a run", 0, plot::Mark::line_and_points, {}};
  plot::Series changed{"the machine changed", 2, plot::Mark::points, {}};
  double low = trend.points.front().median, high = low;
  for (std::size_t i = 0; i < trend.points.size(); ++i) {
    const TrendPoint& point = trend.points[i];
    low = std::min(low, point.median);
    high = std::max(high, point.median);
    medians.points.push_back(
        {static_cast<double>(i + 1),
         point.median,
         {},
         fmt::format("run {}: {} {}, n = {}{}", point.run.id, number_text(point.median), trend.unit,
                     point.n, point.run.commit.empty() ? "" : ", " + point.run.commit)});
    if (point.machine_changes.empty()) continue;
    changed.points.push_back(
        {static_cast<double>(i + 1),
         point.median,
         {},
         fmt::format("run {}: {}", point.run.id, machine_changes_text(point))});
  }
  plot::Series levels{"level", 1, plot::Mark::dashed, {}};
  std::size_t begin = 0;
  const auto level = [&](std::size_t from, std::size_t to, double value) {
    levels.points.push_back({static_cast<double>(from) + 0.6, value, {}, {}});
    levels.points.push_back({static_cast<double>(to) + 0.4, value, {}, {}});
  };
  for (const TrendShift& shift : trend.shifts) {
    level(begin, shift.at, shift.before);
    begin = shift.at;
  }
  if (!trend.shifts.empty()) {
    level(begin, trend.points.size(), trend.shifts.back().after);
    figure.series.push_back(std::move(levels));
  }
  figure.series.push_back(std::move(medians));
  if (!changed.points.empty()) figure.series.push_back(std::move(changed));
  const double room = std::max((high - low) * 0.15, high * 0.01);
  figure.x.low = 0.5;
  figure.x.high = static_cast<double>(trend.points.size()) + 0.5;
  figure.y.low = std::max(0.0, low - room);
  figure.y.high = high + room;
  return figure;
}

}  // namespace

std::string trend_html(const std::vector<Trend>& trends, const std::string& title) {
  std::vector<const Trend*> order;
  for (const Trend& trend : trends) order.push_back(&trend);
  std::ranges::stable_sort(order, {}, [](const Trend* trend) { return trend->shifts.empty(); });
  std::string plots;
  Table table{{{"cell"},
               {"runs", true},
               {"first", true},
               {"newest", true},
               {"change", true},
               {"shifts"},
               {"machine changes"},
               {"machine"}},
              {}};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Trend& trend = *order[i];
    if (i < kMostPlots) plots += html::figure_element(figure_of(trend, i + 1));
    std::string shifts;
    for (const TrendShift& shift : trend.shifts) {
      const StoredRun& run = trend.points[shift.at].run;
      shifts +=
          fmt::format("{}{} at run {}{}", shifts.empty() ? "" : ", ", change_text(shift.change),
                      run.id, run.commit.empty() ? "" : " (" + run.commit + ")");
    }
    if (shifts.empty()) {
      shifts = trend.points.size() < kLeastForChangePoints ? "too few runs" : "none";
    }
    std::string changes;
    for (const TrendPoint& point : trend.points) {
      if (point.machine_changes.empty()) continue;
      changes += fmt::format("{}run {}: {}", changes.empty() ? "" : "; ", point.run.id,
                             machine_changes_text(point));
    }
    const double first = trend.points.front().median, newest = trend.points.back().median;
    table.rows.push_back({key_with_kind(trend.key, trend.kind), std::to_string(trend.points.size()),
                          number_text(first), number_text(newest), change_text(newest / first - 1),
                          shifts, changes, trend.machine});
  }
  html::PageText page;
  page.title = title;
  page.body = html::section(
      "Medians of the stored runs",
      html::small(
          fmt::format("Dashed: levels between change points, looked for in at least {} runs "
                      "of a cell; of steady series at most 2.3 % have one. A mark of its own: the "
                      "machine's environment changed with that run.",
                      kLeastForChangePoints)) +
          "<div class=\"panels\">" + plots + "</div>\n" +
          (order.size() > kMostPlots
               ? html::small(fmt::format("The first {} of {} cells.", kMostPlots, order.size()))
               : std::string()));
  page.body += html::section("Cells", html::sortable_table({table, "cells", "cells", {}, {}}));
  page.footer = fmt::format("bertbench {} ({})", tool_version(), tool_commit());
  std::ostringstream out;
  html::write_page(page, out);
  return std::move(out).str();
}

}  // namespace bertbench
