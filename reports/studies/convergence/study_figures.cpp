#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/studies/convergence/study_report.h"

namespace bertbench {
namespace {

using plot::Figure;
using plot::Mark;
using plot::Point;
using plot::Series;

/// Both axes around the points, with room; an exact match has no meaningful zero here.
void fit(Figure& figure, bool from_zero) {
  double low_x = 1e300, high_x = -1e300, low_y = 1e300, high_y = -1e300;
  for (const Series& series : figure.series) {
    for (const Point& point : series.points) {
      low_x = std::min(low_x, point.x);
      high_x = std::max(high_x, point.x);
      low_y = std::min(low_y, point.interval ? point.interval->first : point.y);
      high_y = std::max(high_y, point.interval ? point.interval->second : point.y);
    }
  }
  const double room_x = std::max(1e-6, (high_x > low_x ? high_x - low_x : high_x) * 0.06);
  const double room_y = std::max(0.5, (high_y - low_y) * 0.08);
  figure.x.low = from_zero ? 0 : std::max(0.0, low_x - room_x);
  figure.x.high = high_x + room_x;
  figure.y.low = std::max(0.0, low_y - room_y);
  figure.y.high = std::min(100.0, high_y + room_y);
}

/// Points in order of x; those at one x, as of several seeds, as their mean with their range.
void merge_points(Series& series) {
  std::ranges::stable_sort(series.points, {}, &Point::x);
  std::vector<Point> out;
  for (auto at = series.points.begin(); at != series.points.end();) {
    const auto end = std::ranges::find_if(at, series.points.end(),
                                          [&](const Point& point) { return point.x != at->x; });
    const auto n = static_cast<double>(end - at);
    Point merged = *at;
    if (n > 1) {
      const auto [low, high] = std::ranges::minmax_element(at, end, {}, &Point::y);
      merged.interval = std::pair(low->y, high->y);
      merged.y = 0;
      merged.tip.clear();
      for (; at != end; ++at) {
        merged.y += at->y / n;
        merged.tip += (merged.tip.empty() ? "" : "; ") + at->tip;
      }
      merged.tip = fmt::format("mean of {}: EM {:.2f}; {}", n, merged.y, merged.tip);
    }
    out.push_back(std::move(merged));
    at = end;
  }
  series.points = std::move(out);
}

std::size_t points_of(const Figure& figure) {
  std::size_t n = 0;
  for (const Series& series : figure.series) n += series.points.size();
  return n;
}

std::string tip_of(const Checkpoint& row) {
  std::string out = fmt::format("EM {:.2f}", *row.exact_match);
  if (row.f1) out += fmt::format(", F1 {:.2f}", *row.f1);
  if (row.step) out += fmt::format(", step {}", *row.step);
  if (row.hours) out += fmt::format(", {:.2f} h", *row.hours);
  if (row.seed) out += ", seed " + *row.seed;
  return out;
}

/// Rows that a plot over pre-training shows: where epochs vary, those of the most usual number.
std::vector<const Checkpoint*> pretraining_rows(const Study& study) {
  std::map<double, int> count;
  for (const Checkpoint& row : study.checkpoints) ++count[row.epochs.value_or(-1)];
  const auto usual =
      std::ranges::max_element(count, {}, [](const auto& one) { return one.second; });
  std::vector<const Checkpoint*> out;
  for (const Checkpoint& row : study.checkpoints) {
    if (row.exact_match && row.epochs.value_or(-1) == usual->first) out.push_back(&row);
  }
  return out;
}

std::string parent_name(const Checkpoint& row) {
  return row.from_step ? fmt::format("from step {}", *row.from_step) : std::string("later phases");
}

void add(Figure& figure, const std::string& name, const Checkpoint& row, double x) {
  auto found = std::ranges::find(figure.series, name, &Series::name);
  if (found == figure.series.end()) {
    figure.series.push_back(
        {name, static_cast<int>(figure.series.size()), Mark::line_and_points, {}});
    found = figure.series.end() - 1;
  }
  found->points.push_back({x, *row.exact_match, {}, tip_of(row)});
}

}  // namespace

std::vector<Figure> study_figures(const Study& study) {
  Figure first, later, hours, epochs;
  first.id = "phase1";
  first.title = "Exact match at the checkpoints of phase 1";
  later.id = "phase2";
  later.title = "Exact match at the later checkpoints, by the phase-1 checkpoint they went on from";
  hours.id = "hours";
  hours.title = "Exact match against all hours of pre-training";
  epochs.id = "epochs";
  epochs.title = "Exact match against epochs of fine-tuning";
  for (Figure* figure : {&first, &later, &hours, &epochs}) figure->y.label = "exact match (%)";
  first.x.label = later.x.label = "steps of pre-training";
  hours.x.label = "hours of pre-training";
  epochs.x.label = "epochs of fine-tuning";
  if (study.checkpoints.empty()) return {};
  for (const Checkpoint* row : pretraining_rows(study)) {
    const bool phase1 = row->phase.value_or(1) == 1;
    const std::string name = phase1 ? "phase 1" : parent_name(*row);
    if (row->step) add(phase1 ? first : later, name, *row, static_cast<double>(*row->step));
    if (row->hours) add(hours, name, *row, *row->hours);
  }
  for (const Checkpoint& row : study.checkpoints) {
    if (!row.epochs || !row.exact_match) continue;
    add(epochs, row.step ? fmt::format("step {}", *row.step) : "all", row, *row.epochs);
  }
  for (Figure* figure : {&first, &later, &hours, &epochs}) {
    for (Series& series : figure->series) merge_points(series);
  }
  const bool epochs_vary = std::ranges::any_of(
      epochs.series, [](const Series& series) { return series.points.size() > 1; });
  if (!epochs_vary) epochs.series.clear();
  std::vector<Figure> out;
  for (Figure* figure : {&first, &later, &hours, &epochs}) {
    if (points_of(*figure) < 2) continue;
    if (figure->series.size() == 1) figure->series.front().name.clear();
    fit(*figure, figure == &epochs);
    out.push_back(std::move(*figure));
  }
  return out;
}

}  // namespace bertbench
