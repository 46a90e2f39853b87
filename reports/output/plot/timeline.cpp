// Where the time of a run went, a row a trial: each stretch from its begin to its end.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "reports/measure/time_parts.h"
#include "reports/output/cell_table.h"
#include "reports/output/plot/figures.h"

namespace bertbench::plot {
namespace {

constexpr std::size_t kMostRows = 24;

std::string readable(std::string part) {
  std::ranges::replace(part, '_', '-');
  return part;
}

}  // namespace

std::optional<Figure> timeline_figure(const ResultSet& set) {
  const std::vector<std::string> names = short_names(set);
  Figure figure;
  figure.id = "timeline";
  for (std::size_t part = 0; part < kTimePartCount; ++part) {
    figure.series.push_back({readable(std::string(name(static_cast<TimePart>(part)))),
                             static_cast<int>(part),
                             Mark::spans,
                             {}});
  }
  std::size_t all = 0;
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const auto& trials = set.cells[i].trials;
    const auto trial =
        std::ranges::find_if(trials, [](const Trial& t) { return bool(t.time_parts); });
    if (trial == trials.end() || !(trial->time_parts->total_s > 0) || ++all > kMostRows) continue;
    const auto row = static_cast<double>(figure.y.rows.size());
    figure.y.rows.push_back(row_name(names[i], *trial));
    const double total = trial->time_parts->total_s;
    for (const auto& span : trial->time_parts->timeline) {
      const auto series = std::ranges::find(figure.series, readable(span.part), &Series::name);
      if (series == figure.series.end()) continue;  // a part of a later version
      series->points.push_back({(span.begin_s + span.end_s) / 2 / total, row,
                                std::pair(span.begin_s / total, span.end_s / total),
                                fmt::format("{}: {:.1f} s, from {:.1f} to {:.1f} s", series->name,
                                            span.end_s - span.begin_s, span.begin_s, span.end_s)});
    }
  }
  if (figure.y.rows.empty()) return std::nullopt;
  std::erase_if(figure.series, [](const Series& series) { return series.points.empty(); });
  figure.title = "Parts of the run's time; one trial a cell";
  if (all > kMostRows) {
    figure.title += fmt::format(" (the first {} of {} cells)", kMostRows, all);
  }
  // Runs of a minute and of a day stand side by side: each row is its own run's length.
  figure.x.label = "share of the run";
  figure.x.low = 0;
  figure.x.high = 1;
  figure.x.ticks = nice_ticks(0, 1, 10);
  figure.x.percent = true;
  figure.width = 900;
  figure.height = static_cast<int>(70 + 24 * figure.y.rows.size());
  return figure;
}

}  // namespace bertbench::plot
