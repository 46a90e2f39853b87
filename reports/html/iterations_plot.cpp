#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "parsers/core/text.h"
#include "reports/cell_table.h"
#include "reports/html/plots.h"
#include "reports/html/svg.h"
#include "reports/markup.h"

namespace bertbench::html {
namespace {

constexpr std::size_t kMostPanels = 24;
constexpr std::size_t kMostPoints = 300;

struct Series {
  std::vector<double> steps, rates;
};

/// A path of a result file is data: only one below the run folder is followed.
bool stays_below(const std::string& path) {
  if (path.empty() || path.front() == '/') return false;
  for (const std::string_view part : split(path, '/')) {
    if (part == "..") return false;
  }
  return true;
}

/// Columns step and sequences_per_second of an iterations file; empty when it cannot be read.
Series read_series(const std::string& path) {
  Series series;
  std::ifstream in(path);
  std::string line;
  std::size_t step = std::string::npos, rate = std::string::npos;
  while (std::getline(in, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const auto cells = split(line, ',');
    if (step == std::string::npos) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (cells[i] == "step") step = i;
        if (cells[i] == "sequences_per_second") rate = i;
      }
      if (step == std::string::npos || rate == std::string::npos) return {};
      continue;
    }
    // A log path may hold quoted commas: columns are counted from the end, which has none.
    constexpr std::size_t kColumns = 8;
    if (cells.size() < kColumns) continue;
    const std::size_t shift = cells.size() - kColumns;
    const auto s = to_double(cells[step + shift]);
    const auto r = to_double(cells[rate + shift]);
    if (s && r && std::isfinite(*r)) {
      series.steps.push_back(*s);
      series.rates.push_back(*r);
    }
  }
  return series;
}

/// At most kMostPoints points: neighbours are averaged, so a plot of 10^6 steps stays small.
Series thin(const Series& full) {
  if (full.steps.size() <= kMostPoints) return full;
  const std::size_t block = (full.steps.size() + kMostPoints - 1) / kMostPoints;
  Series out;
  for (std::size_t i = 0; i < full.steps.size(); i += block) {
    const std::size_t end = std::min(i + block, full.steps.size());
    double sum = 0;
    for (std::size_t k = i; k < end; ++k) sum += full.rates[k];
    out.steps.push_back(full.steps[end - 1]);
    out.rates.push_back(sum / static_cast<double>(end - i));
  }
  return out;
}

}  // namespace

std::string iterations_section(const ResultSet& set, const std::string& run_folder) {
  if (run_folder.empty()) return {};
  const std::vector<std::string> names = short_names(set);
  std::string panels;
  std::size_t shown = 0, all = 0;
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Cell& cell = set.cells[i];
    std::vector<std::pair<int, Series>> lines;
    if (shown < kMostPanels) {
      for (const Trial& trial : cell.trials) {
        if (!stays_below(trial.iterations_file)) continue;
        Series series = thin(read_series(run_folder + "/" + trial.iterations_file));
        if (series.steps.size() >= 2) lines.emplace_back(trial.trial, std::move(series));
      }
    }
    const bool has_file = std::ranges::any_of(
        cell.trials, [](const Trial& trial) { return !trial.iterations_file.empty(); });
    all += has_file ? 1 : 0;
    if (lines.empty()) continue;
    double last = 1, top = 0;
    for (const auto& [trial, series] : lines) {
      last = std::max(last, series.steps.back());
      top = std::max(top, *std::ranges::max_element(series.rates));
    }
    Plot plot(names[i], Axis{"step", 0, last, Scale::linear, {}, false},
              Axis{"sequences/s", 0, top * 1.05, Scale::linear, {}, false}, 420, 230);
    for (const Trial& trial : cell.trials) {
      if (!trial.window.covered || !trial.window.first_step || !trial.window.last_step) continue;
      plot.band(static_cast<double>(*trial.window.first_step),
                static_cast<double>(*trial.window.last_step),
                "measured window " + trial.window.rule);
      break;
    }
    for (const auto& [trial, series] : lines) {
      plot.line(series.steps, series.rates, trial - 1, "thin");
    }
    panels += plot.svg();
    ++shown;
  }
  if (shown == 0) return {};
  std::string out =
      "<section><h2>Throughput over steps</h2>\n<p class=\"small\">A line a trial; the shaded part "
      "is the window that was measured, what is left of it is warm-up.</p><div class=\"panels\">" +
      panels + "</div>";
  if (shown < all) {
    out += fmt::format("<p class=\"small\">The first {} of {} cells.</p>", shown, all);
  }
  return out + "</section>\n";
}

}  // namespace bertbench::html
