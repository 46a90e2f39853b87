#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/output/cell_table.h"
#include "reports/output/iterations_file.h"
#include "reports/output/plot/figures.h"

namespace bertbench::plot {
namespace {

constexpr std::size_t kMostFigures = 24;
constexpr std::size_t kMostPoints = 300;

struct Rates {
  std::vector<double> steps, rates;
};

Rates read_rates(const std::string& run_folder, const std::string& path) {
  Rates out;
  read_iterations(run_folder, path, [&](const IterationRow& row) {
    if (!std::isfinite(row.step) || !std::isfinite(row.sequences_per_second)) return;
    out.steps.push_back(row.step);
    out.rates.push_back(row.sequences_per_second);
  });
  return out;
}

/// At most kMostPoints points: neighbours are averaged, so a plot of 10^6 steps stays small.
std::vector<Point> thin(const Rates& full) {
  const std::size_t block = (full.steps.size() + kMostPoints - 1) / kMostPoints;
  std::vector<Point> out;
  for (std::size_t i = 0; i < full.steps.size(); i += block) {
    const std::size_t end = std::min(i + block, full.steps.size());
    double sum = 0;
    for (std::size_t k = i; k < end; ++k) sum += full.rates[k];
    out.push_back({full.steps[end - 1], sum / static_cast<double>(end - i), {}, {}});
  }
  return out;
}

/// What was measured, and what was cut in front of it.
void add_window(const Cell& cell, Figure& figure) {
  for (const Trial& trial : cell.trials) {
    if (!trial.window.covered || !trial.window.first_step || !trial.window.last_step) continue;
    const auto first = static_cast<double>(*trial.window.first_step);
    const auto last = static_cast<double>(*trial.window.last_step);
    if (first > figure.x.low) figure.bands.push_back({figure.x.low, first, "cut as warm-up", 1});
    figure.bands.push_back({first, last, "measured window " + trial.window.rule, 0});
    return;
  }
}

}  // namespace

IterationFigures iteration_figures(const ResultSet& set, const std::string& run_folder) {
  IterationFigures out;
  if (run_folder.empty()) return out;
  const std::vector<std::string> names = short_names(set);
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Cell& cell = set.cells[i];
    if (std::ranges::all_of(cell.trials,
                            [](const Trial& trial) { return trial.iterations_file.empty(); }))
      continue;
    if (out.figures.size() >= kMostFigures) {
      ++out.cells;  // not read: it may be empty, but reading thousands to tell is not worth it
      continue;
    }
    Figure figure;
    double last = 1, top = 0;
    for (const Trial& trial : cell.trials) {
      const Rates rates = read_rates(run_folder, trial.iterations_file);
      if (rates.steps.size() < 2) continue;
      Series series{fmt::format("trial {}", trial.trial), trial.trial - 1, Mark::line, thin(rates)};
      last = std::max(last, series.points.back().x);
      for (const Point& point : series.points) top = std::max(top, point.y);
      figure.series.push_back(std::move(series));
    }
    if (figure.series.empty()) continue;
    ++out.cells;
    figure.id = fmt::format("iterations-{}", out.figures.size() + 1);
    figure.title = names[i];
    figure.x = {"step", 0, last, Scale::linear, {}, false, {}};
    figure.y = {"sequences/s", 0, top * 1.05, Scale::linear, {}, false, {}};
    figure.width = 420;
    figure.height = 230;
    add_window(cell, figure);
    out.figures.push_back(std::move(figure));
  }
  return out;
}

}  // namespace bertbench::plot
