// Figure: what a plot shows, apart from how it is drawn (svg.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bertbench::plot {

/// How values of an axis are placed.
enum class Scale { linear, log2 };

struct Axis {
  std::string label;
  double low = 0, high = 1;  ///< range shown; log2 needs low > 0
  Scale scale = Scale::linear;
  std::vector<double> ticks;            ///< empty: chosen by nice_ticks
  bool percent = false;                 ///< tick labels as percentages of a fraction
  std::vector<std::string> rows;        ///< y only: row i is named at y = i, first on top
  std::vector<std::string> names = {};  ///< x only: of the ticks, in place of their numbers
};

struct Point {
  double x = 0, y = 0;
  /// An interval with caps through the point: along y, or along x where the y axis has rows.
  std::optional<std::pair<double, double>> interval;
  std::string tip;
};

enum class Mark {
  line,    ///< without points: many values in order
  dashed,  ///< an ideal, a model
  points,
  line_and_points,
  faint_points,  ///< single trials, drawn under their median
  bars,          ///< from 0 along x; the y axis has rows
  spans,         ///< the interval of each point as a bar along x; the y axis has rows
  slopes,        ///< each two points in turn are the ends of a line
};

struct Series {
  std::string name;  ///< empty: not in the legend
  int colour = 0;    ///< also its shape, so that colour is never the only mark
  Mark mark = Mark::line_and_points;
  std::vector<Point> points;
};

/// A vertical band over the whole height, x from .. to.
struct Band {
  double from = 0, to = 0;
  std::string label;
  int colour = 0;
};

/// A horizontal line; vertical where the y axis has rows.
struct Reference {
  double at = 0;
  std::string label;
};

struct Figure {
  std::string id;  ///< letters, digits and '-': file names and anchors are made of it
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  std::vector<Band> bands;
  std::vector<Reference> references;
  int width = 560, height = 320;
};

inline constexpr int kColours = 8;

/// At most `count` + 2 round numbers (1, 2, 2.5, 5 times a power of ten) that cover low..high.
[[nodiscard]] std::vector<double> nice_ticks(double low, double high, int count);

/// 1, 2 and 5 times powers of ten from low, which is above 0, to high.
[[nodiscard]] std::vector<double> decade_ticks(double low, double high);

/// "1.5k", "20 %": short text of a tick.
[[nodiscard]] std::string tick_text(double value, bool percent);

/// Range and ticks made whole: a figure that is about to be drawn.
void settle(Figure& figure);

}  // namespace bertbench::plot
