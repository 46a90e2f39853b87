#include "reports/output/plot/figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "reports/measure/time_parts.h"
#include "reports/output/cell_table.h"
#include "reports/output/iterations_file.h"
#include "reports/output/plot/groups.h"
#include "reports/output/value_text.h"

namespace bertbench::plot {

// Throughput and efficiency against GPUs.

namespace {

constexpr std::size_t kMostFamilies = 400;  // that are drawn

/// Cells that differ in nothing but their number of GPUs, fewest first; their rates in one unit.
using Family = CellGroup;

double gpus(const Cell& cell) { return static_cast<double>(*cell.identity.world_size()); }

std::vector<Family> families_of(const ResultSet& set) {
  return groups_of(
      set,
      [](const Cell& cell) {
        const bool known = cell.identity.world_size() && cell.throughput.median;
        return known ? std::optional(cell.throughput.unit) : std::nullopt;
      },
      [](Identity& identity) { identity.nodes = identity.gpus_per_node = std::nullopt; },
      [](Family& family) {
        std::ranges::sort(family.cells, {}, [](const Cell* c) { return gpus(*c); });
        return gpus(*family.cells.front()) < gpus(*family.cells.back());
      });
}

/// Separate logs of one topology may be of different machines, so no line joins them.
bool is_one_run(const Family& family) {
  std::set<std::string> topologies;
  return std::ranges::all_of(family.cells, [&](const Cell* cell) {
    return topologies.insert(topology_text(cell->identity)).second;
  });
}

Mark mark_of(const Family& family) {
  return is_one_run(family) ? Mark::line_and_points : Mark::points;
}

/// What the GPUs of these families are.
std::string gpu_label(std::span<const Family> families) {
  std::set<std::string_view> words;
  for (const Family& family : families) {
    for (const Cell* cell : family.cells) words.insert(gpu_word(*cell));
  }
  if (words.size() > 1) return fmt::format("{}s", fmt::join(words, "s or "));
  return *words.begin() == "rank" ? "ranks (each stands in for a GPU)"
                                  : fmt::format("{}s", *words.begin());
}

/// The axis of GPUs. Doublings up to large jobs want logarithms, where the ideal stays straight.
Axis gpu_axis(std::span<const Family> families) {
  std::vector<double> counts;
  for (const Family& family : families) {
    for (const Cell* cell : family.cells) counts.push_back(gpus(*cell));
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  Axis axis;
  axis.label = gpu_label(families);
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
Axis rate_axis(std::span<const Family> families, Scale scale, double most) {
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
  axis.label = families.front().cells.front()->throughput.unit;
  axis.high = std::max(top, std::min(ideal, 1.6 * top)) * 1.06;
  if (scale == Scale::log2) {
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
  // Two points would do on equal scales; a rate axis may be linear next to logarithmic GPUs.
  constexpr int kSteps = 24;
  for (int i = 0; i <= kSteps; ++i) {
    const double at = from * std::pow(to / from, static_cast<double>(i) / kSteps);
    series.points.push_back({at, rate * at / from, {}, {}});
  }
  return series;
}

void add_rates(const Family& family, int colour, Figure& figure) {
  if (is_one_run(family)) {
    figure.series.push_back(ideal_of(family, figure.x, figure.y, colour));
  }
  Series trials{"", colour, Mark::faint_points, {}};
  Series medians{family.name, colour, mark_of(family), {}};
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
  Series series{family.name, colour, mark_of(family), {}};
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

/// Throughput and, where it is known, efficiency of families of one unit; `number` where they are
/// not all.
std::vector<Figure> figures_of(std::span<const Family> families, const std::string& number) {
  Figure rate;
  rate.id = "throughput" + number;
  rate.title = "Throughput of the whole job: median, interval, trials; dashed: ideal from the base";
  rate.x = gpu_axis(families);
  double most = 0;
  for (const Family& family : families) most = std::max(most, gpus(*family.cells.back()));
  rate.y = rate_axis(families, rate.x.scale, most);

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
  std::vector<Family> families = families_of(set);
  const auto unit_of = [](const Family& family) {
    const std::string& unit = family.cells.front()->throughput.unit;
    return std::ranges::find(kRateUnits, unit, [](RateUnit one) { return name(one); });
  };
  std::ranges::stable_sort(families, {}, unit_of);
  // As many series of one unit a figure as there are colours.
  std::vector<std::vector<Figure>> out;
  const std::size_t last = std::min(families.size(), kMostFamilies);
  for (std::size_t from = 0, end = 0; from < last; from = end) {
    while (end < last && end - from < kColours && unit_of(families[end]) == unit_of(families[from]))
      ++end;
    const std::string number = from == 0 ? "" : fmt::format("-{}", out.size() + 1);
    out.push_back(figures_of(std::span(families).subspan(from, end - from), number));
    if (end - from == families.size()) break;
    for (Figure& figure : out.back()) {
      figure.title += fmt::format(" (series {} to {} of {})", from + 1, end, families.size());
    }
  }
  return out;
}

// A row a cell: trials against their median, estimators against the total, changes.

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
    if (cell.throughput.n < 2 || !cell.throughput.median) continue;
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
    const bool has_total = total != trial->estimators.end();
    const double base = has_total ? total->second : *trial->sequences_per_second;
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

namespace {

std::map<std::string_view, std::string> names_by_key(const ResultSet& set) {
  std::vector<std::string> names = short_names(set);
  std::map<std::string_view, std::string> out;
  for (std::size_t i = 0; i < names.size(); ++i) out.emplace(set.cells[i].key, std::move(names[i]));
  return out;
}

/// Leaves the `most` cells whose change is the largest.
void keep_largest_changes(auto& cells, std::size_t most) {
  if (cells.size() <= most) return;
  std::ranges::stable_sort(cells, std::greater<>(),
                           [](const auto* cell) { return std::fabs(*cell->change); });
  cells.resize(most);
}

}  // namespace

std::optional<Figure> comparison_figure(const std::vector<CellComparison>& cells,
                                        const ResultSet& set) {
  const auto name_of = names_by_key(set);
  std::vector<const CellComparison*> shown;
  for (const CellComparison& cell : cells) {
    if (cell.change) shown.push_back(&cell);
  }
  if (shown.empty()) return std::nullopt;
  const std::size_t all = shown.size();
  std::string which;
  if (all > kMostRows) {
    which = fmt::format(" (the {} largest changes of {} cells)", kMostRows, all);
  }
  keep_largest_changes(shown, kMostRows);
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

// Where the time of a run went, a row a trial: each stretch from its begin to its end.

namespace {

constexpr std::size_t kMostTimelines = 24;

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
    if (trial == trials.end() || ++all > kMostTimelines) continue;
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
  figure.title = "Parts of the run's time; one trial a cell" + capped(figure.y.rows.size(), all);
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

// Throughput over iterations.

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

/// What was measured, and what was cut before it.
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
      ++out.cells;  // not read: it may be empty, but reading thousands to find out is not worth it
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
  const auto name_of = names_by_key(set);
  std::vector<const CellVerdict*> shown;
  for (const CellVerdict& cell : report.cells) {
    if (!cell.pairs.empty()) shown.push_back(&cell);
  }
  PairFigures out;
  out.cells = shown.size();
  keep_largest_changes(shown, kMostPanels);
  for (const CellVerdict* cell : shown) {
    Figure& figure = out.figures.emplace_back(slopes(*cell, report.paired));
    figure.id = fmt::format("pairs-{}", out.figures.size());
    figure.title = fmt::format("{}: {}, ratio {}", name_of.at(cell->key), name(cell->speed),
                               ratio_words(*cell));
  }
  return out;
}

}  // namespace bertbench::plot
