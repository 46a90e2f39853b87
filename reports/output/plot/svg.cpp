#include "reports/output/plot/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/output/markup.h"
#include "reports/output/plot/svg_parts.h"
#include "reports/output/table.h"

namespace bertbench::plot {
namespace {

constexpr double kRowMargin = 16, kRowLetter = 6.3;  // of the names of rows, at 11 px
constexpr std::size_t kMostOfTickName = 18;          // columns

/// A name without its middle where it has more than `most` columns: its end (the topology) shows
/// rows apart as its beginning does.
std::string shortened(const std::string& name, std::size_t most) {
  if (display_width(name) <= most) return name;
  const auto is_start = [&](std::size_t i) { return (name[i] & 0xC0) != 0x80; };
  const std::size_t head = (most - 1) / 2, tail = most - 1 - head;
  std::size_t from = name.size(), to = 0;
  while (from > 0 && display_width(std::string_view(name).substr(from)) < tail) {
    do --from;
    while (from > 0 && !is_start(from));
  }
  while (to < from && display_width(std::string_view(name).substr(0, to)) < head) {
    do ++to;
    while (to < from && !is_start(to));
  }
  return name.substr(0, to) + "\u2026" + name.substr(from);
}

/// Where things are: data units to the view box.
struct Frame {
  const Figure& figure;
  double left, right, top, bottom;  ///< edges of the plot area

  static double share(const Axis& axis, double value) {
    if (axis.scale == Scale::log2) {
      return (std::log2(value) - std::log2(axis.low)) /
             (std::log2(axis.high) - std::log2(axis.low));
    }
    return (value - axis.low) / (axis.high - axis.low);
  }
  // Clamped far outside: a value beyond the axis is still drawn as leaving the area.
  [[nodiscard]] double px(double x) const {
    return left + std::clamp(share(figure.x, x), -0.05, 1.05) * (right - left);
  }
  [[nodiscard]] double py(double y) const {
    const double at = std::clamp(share(figure.y, y), -0.05, 1.05);
    return figure.y.rows.empty() ? bottom - at * (bottom - top) : top + at * (bottom - top);
  }
};

std::string title_of(const std::string& tip) {
  return tip.empty() ? std::string() : "<title>" + escape_markup(tip) + "</title>";
}

/// Circle, square, triangle, diamond: distinct without colour; the colour is that of the enclosing
/// group.
std::string dot(double x, double y, int colour, double r, const char* css, const std::string& tip) {
  const std::string head = fmt::format("class=\"dot{}\"", css);
  const auto path = [&](const std::string& d) {
    return fmt::format("<path {} d=\"{}\">{}</path>\n", head, d, title_of(tip));
  };
  switch (colour % 4) {
    case 1:
      return path(
          fmt::format("M{:.1f} {:.1f}h{:.1f}v{:.1f}h-{:.1f}z", x - r, y - r, 2 * r, 2 * r, 2 * r));
    case 2:
      return path(fmt::format("M{:.1f} {:.1f}l{:.1f} {:.1f}h-{:.1f}z", x, y - 1.2 * r, 1.2 * r,
                              2.1 * r, 2.4 * r));
    case 3:
      return path(fmt::format("M{:.1f} {:.1f}l{:.1f} {:.1f}l-{:.1f} {:.1f}l-{:.1f} -{:.1f}z", x,
                              y - 1.3 * r, 1.3 * r, 1.3 * r, 1.3 * r, 1.3 * r, 1.3 * r, 1.3 * r));
    default:
      return fmt::format("<circle {} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\">{}</circle>\n", head, x,
                         y, r, title_of(tip));
  }
}

std::string path_of(const Frame& frame, const Series& series, const char* css) {
  std::string d;
  for (const Point& point : series.points) {
    d +=
        fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", frame.px(point.x), frame.py(point.y));
  }
  return fmt::format("<path class=\"line{}\" d=\"{}\">{}</path>\n", css, d, title_of(series.name));
}

/// A line from the first to the second of each two points.
std::string slopes_of(const Frame& frame, const Series& series) {
  std::string d;
  for (std::size_t i = 0; i + 1 < series.points.size(); i += 2) {
    const Point &from = series.points[i], &to = series.points[i + 1];
    d += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", frame.px(from.x), frame.py(from.y),
                     frame.px(to.x), frame.py(to.y));
  }
  return fmt::format("<path class=\"line thin\" d=\"{}\"/>\n", d);
}

std::string interval_of(const Frame& frame, const Point& point) {
  if (!point.interval) return {};
  const auto [low, high] = *point.interval;
  std::string d;
  if (frame.figure.y.rows.empty()) {
    const double x = frame.px(point.x), a = frame.py(low), b = frame.py(high);
    d = fmt::format("M{0:.1f} {1:.1f}L{0:.1f} {2:.1f}M{3:.1f} {1:.1f}h8M{3:.1f} {2:.1f}h8", x, a, b,
                    x - 4);
  } else {
    const double y = frame.py(point.y), a = frame.px(low), b = frame.px(high);
    d = fmt::format("M{1:.1f} {0:.1f}L{2:.1f} {0:.1f}M{1:.1f} {3:.1f}v8M{2:.1f} {3:.1f}v8", y, a, b,
                    y - 4);
  }
  return "<path class=\"line\" d=\"" + d + "\"/>\n";
}

std::string along_x(const Frame& frame, const Point& point, double from, double to, double thick) {
  return fmt::format(
      "<rect class=\"dot\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\">{}</rect>\n",
      from, frame.py(point.y) - thick / 2, std::max(1.0, to - from), thick, title_of(point.tip));
}

std::string bar(const Frame& frame, const Point& point) {
  constexpr double kThick = 7;
  const auto [a, b] = std::minmax({frame.px(0), frame.px(point.x)});
  return along_x(frame, point, a, b, kThick);
}

std::string span(const Frame& frame, const Point& point) {
  constexpr double kThick = 12;
  return along_x(frame, point, frame.px(point.interval->first), frame.px(point.interval->second),
                 kThick);
}

std::string marks(const Frame& frame, const Series& series) {
  if (series.mark == Mark::line) return path_of(frame, series, " thin");
  if (series.mark == Mark::dashed) return path_of(frame, series, " dashed");
  std::string out;
  if (series.mark == Mark::line_and_points) out += path_of(frame, series, "");
  if (series.mark == Mark::slopes) out += slopes_of(frame, series);
  const bool faint = series.mark == Mark::faint_points || series.mark == Mark::slopes;
  for (const Point& point : series.points) {
    if (series.mark == Mark::spans) {
      out += span(frame, point);
      continue;
    }
    out += interval_of(frame, point);
    out += series.mark == Mark::bars ? bar(frame, point)
                                     : dot(frame.px(point.x), frame.py(point.y), series.colour,
                                           faint ? 2.2 : 4, faint ? " faint" : "", point.tip);
  }
  return out;
}

std::string draw(const Frame& frame, const Series& series) {
  return fmt::format("<g class=\"series c{}\">\n{}</g>\n", series.colour % kColours,
                     marks(frame, series));
}

std::string axes(const Frame& frame) {
  const Figure& figure = frame.figure;
  std::string out;
  for (const double tick : figure.y.ticks) {
    const double y = frame.py(tick);
    const bool row = !figure.y.rows.empty();
    out += fmt::format(
        "<path class=\"grid\" d=\"M{} {:.1f}H{}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>\n",
        frame.left, y, frame.right, frame.left - 6, y + 4,
        row ? escape_markup(shortened(
                  figure.y.rows[static_cast<std::size_t>(tick)],
                  static_cast<std::size_t>((frame.left - kRowMargin) / kRowLetter + 0.01)))
            : tick_text(tick, figure.y.percent));
  }
  for (std::size_t i = 0; i < figure.x.ticks.size(); ++i) {
    const double tick = figure.x.ticks[i];
    const bool named = i < figure.x.names.size();
    out += fmt::format(
        "<path class=\"grid\" d=\"M{:.1f} {}V{}\"/><text class=\"tick\" x=\"{:.1f}\" y=\"{}\" "
        "text-anchor=\"middle\">{}</text>\n",
        frame.px(tick), frame.top, frame.bottom, frame.px(tick), frame.bottom + 16,
        named ? escape_markup(shortened(figure.x.names[i], kMostOfTickName))
              : tick_text(tick, figure.x.percent));
  }
  out += fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>\n", frame.left, frame.top,
                     frame.bottom, frame.right);
  return out;
}

std::string references(const Frame& frame) {
  std::string out;
  for (const Reference& line : frame.figure.references) {
    if (frame.figure.y.rows.empty()) {
      const double y = frame.py(line.at);
      out += fmt::format(
          "<path class=\"ideal\" d=\"M{} {:.1f}H{}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{}</text>\n",
          frame.left, y, frame.right, frame.right, y - 4, escape_markup(line.label));
    } else {
      const double x = frame.px(line.at);
      out += fmt::format("<path class=\"ideal\" d=\"M{:.1f} {}V{}\">{}</path>\n", x, frame.top,
                         frame.bottom, title_of(line.label));
    }
  }
  return out;
}

std::string labels(const Frame& frame) {
  const Figure& figure = frame.figure;
  std::string out =
      fmt::format("<text class=\"label\" x=\"{:.0f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                  (frame.left + frame.right) / 2, frame.bottom + 38, escape_markup(figure.x.label));
  if (figure.y.rows.empty()) {
    out += fmt::format(
        "<text class=\"label\" transform=\"translate(14 {:.0f}) rotate(-90)\" "
        "text-anchor=\"middle\">{}</text>\n",
        (frame.top + frame.bottom) / 2, escape_markup(figure.y.label));
  }
  return out;
}

/// Names of series in rows above the plot area, which begins at `top`.
std::string legend(const Figure& figure, double& top) {
  std::string out;
  double x = 10, y = top + 10;
  for (const Series& series : figure.series) {
    if (series.name.empty()) continue;
    const double width = 26 + text_width(series.name);
    if (x + width > figure.width) {
      x = 10;
      y += 18;
    }
    out += fmt::format(
        "<g class=\"key c{}\">{}<text class=\"label\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text></g>\n",
        series.colour % kColours, dot(x + 6, y - 4, series.colour, 4, "", ""), x + 16, y,
        escape_markup(series.name));
    x += width;
  }
  if (!out.empty()) top = y + 8;
  return out;
}

std::string drawn(Figure& figure, bool file) {
  settle(figure);
  double left = 66;
  if (!figure.y.rows.empty()) {
    std::size_t widest = 0;
    for (const std::string& row : figure.y.rows) widest = std::max(widest, display_width(row));
    left = std::min(0.5 * figure.width, kRowMargin + kRowLetter * static_cast<double>(widest));
  }
  double top = file ? 30 : 14;
  std::string body = file ? title_line(figure.title) : std::string();
  body += legend(figure, top);
  const double extra = top - 14;
  const Frame frame{figure, left, figure.width - 16.0, top, figure.height - 46.0 + extra};
  for (const Band& band : figure.bands) {
    const double a = frame.px(std::max(band.from, figure.x.low));
    const double b = frame.px(std::min(band.to, figure.x.high));
    body += fmt::format(
        "<rect class=\"band c{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.1f}\">{}"
        "</rect>\n",
        band.colour % kColours, a, frame.top, std::max(0.0, b - a), frame.bottom - frame.top,
        title_of(band.label));
  }
  body += axes(frame) + references(frame);
  for (const Series& series : figure.series) body += draw(frame, series);
  body += labels(frame);
  return svg_element(
      {static_cast<double>(figure.width), figure.height + extra, figure.title, body, file});
}

}  // namespace

std::string inline_svg(Figure figure) { return drawn(figure, false); }
std::string svg_file(Figure figure) { return drawn(figure, true); }

}  // namespace bertbench::plot
