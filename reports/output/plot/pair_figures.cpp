#include "reports/output/plot/pair_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "reports/output/cell_table.h"
#include "reports/output/value_text.h"

namespace bertbench::plot {
namespace {

constexpr std::size_t kMostPanels = 40;
constexpr int kSlowerColour = 1, kFasterColour = 2, kUndecidedColour = 0;
constexpr int kPairColour = 7, kLeftOutColour = 3;

int colour_of(Verdict verdict) {
  if (verdict == Verdict::regression) return kSlowerColour;
  return verdict == Verdict::improvement ? kFasterColour : kUndecidedColour;
}

std::string ratio_words(const CellVerdict& cell) {
  std::string out = fmt::format("{:.3f}", 1 + *cell.change);
  if (cell.interval.coverage > 0) {
    out += fmt::format(" ({:.3f} to {:.3f})", 1 + cell.interval.low, 1 + cell.interval.high);
  }
  return out;
}

Figure slopes(const CellVerdict& cell, const std::string& base) {
  Figure figure;
  figure.x = {.label = "",
              .low = -0.3,
              .high = 1.3,
              .ticks = {0, 1},
              .rows = {},
              .names = {base, cell.variant}};
  Series pairs{"", kPairColour, Mark::slopes, {}};
  Series left_out{"", kLeftOutColour, Mark::slopes, {}};
  double low = INFINITY, high = 0;
  const auto cover = [&](double rate) {
    low = std::min(low, rate);
    high = std::max(high, rate);
  };
  for (const JudgedPair& pair : cell.pairs) {
    const std::string tip =
        fmt::format("trial {}: {} to {} {} ({:+.2f} %){}", pair.trial, number_text(pair.base),
                    number_text(pair.now), cell.unit, 100 * (pair.now / pair.base - 1),
                    pair.left_out ? ", left out: one of the two was hit" : "");
    Series& series = pair.left_out ? left_out : pairs;
    series.points.push_back({0, pair.base, {}, tip});
    series.points.push_back({1, pair.now, {}, tip});
    if (pair.left_out) continue;  // its line may leave the plot
    cover(pair.base);
    cover(pair.now);
  }
  // The ratio, drawn from the median of the base.
  const double from = *cell.reference;
  Point to{1, from * (1 + *cell.change), {}, "ratio " + ratio_words(cell)};
  if (cell.interval.coverage > 0) {
    to.interval = {from * (1 + cell.interval.low), from * (1 + cell.interval.high)};
    cover(to.interval->first);
    cover(to.interval->second);
  }
  figure.series = {std::move(pairs),
                   std::move(left_out),
                   {"", colour_of(cell.speed), Mark::line_and_points, {{0, from, {}, to.tip}, to}}};
  const double margin = std::max(0.05 * (high - low), 0.001 * high);
  figure.y = {.label = cell.unit,
              .low = low - margin,
              .high = high + margin,
              .ticks = {},
              .rows = {},
              .names = {}};
  figure.width = 320;
  figure.height = 260;
  return figure;
}

}  // namespace

PairFigures pair_figures(const GateReport& report, const ResultSet& set) {
  const std::vector<std::string> names = short_names(set);
  std::map<std::string_view, std::string_view> name_of;
  for (std::size_t i = 0; i < names.size(); ++i) name_of.emplace(set.cells[i].key, names[i]);
  std::vector<const CellVerdict*> shown;
  for (const CellVerdict& cell : report.cells) {
    if (!cell.pairs.empty()) shown.push_back(&cell);
  }
  PairFigures out;
  out.cells = shown.size();
  if (shown.size() > kMostPanels) {
    std::ranges::stable_sort(shown, std::greater<>(),
                             [](const CellVerdict* cell) { return std::abs(*cell->change); });
    shown.resize(kMostPanels);
  }
  for (const CellVerdict* cell : shown) {
    Figure& figure = out.figures.emplace_back(slopes(*cell, report.paired));
    figure.id = fmt::format("pairs-{}", out.figures.size());
    figure.title = fmt::format("{}: {}, ratio {}", name_of.at(cell->key), name(cell->speed),
                               ratio_words(*cell));
  }
  return out;
}

}  // namespace bertbench::plot
