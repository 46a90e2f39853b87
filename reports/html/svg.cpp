#include "reports/html/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/markup.h"
#include "reports/present.h"

namespace bertbench::html {
namespace {

constexpr double kLeft = 66, kRight = 16, kTop = 14, kBottom = 46;

std::string tick_text(double value, bool percent) {
  if (std::fabs(value) < 1e-12) return percent ? "0 %" : "0";
  if (percent) return fmt::format("{:.4g} %", value * 100);
  const double size = std::fabs(value);
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  if (!(high > low) || !std::isfinite(low) || !std::isfinite(high)) return {low};
  const double raw = (high - low) / std::max(1, count);
  const double magnitude = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * magnitude;
  for (const double nice : {1.0, 2.0, 2.5, 5.0}) {
    if (nice * magnitude >= raw * 0.999) {
      step = nice * magnitude;
      break;
    }
  }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

Plot::Plot(std::string title, Axis x, Axis y, int width, int height)
    : title_(std::move(title)), x_(std::move(x)), y_(std::move(y)), width_(width), height_(height) {
  for (Axis* axis : {&x_, &y_}) {
    if (!(axis->high > axis->low)) axis->high = axis->low + 1;
    if (axis->ticks.empty()) axis->ticks = nice_ticks(axis->low, axis->high, 5);
  }
}

namespace {
double position(const Axis& axis, double value) {
  if (axis.scale == Scale::log2) {
    return (std::log2(value) - std::log2(axis.low)) / (std::log2(axis.high) - std::log2(axis.low));
  }
  return (value - axis.low) / (axis.high - axis.low);
}
}  // namespace

double Plot::px(double x) const { return kLeft + position(x_, x) * (width_ - kLeft - kRight); }

double Plot::py(double y) const {
  return height_ - kBottom - position(y_, y) * (height_ - kTop - kBottom);
}

void Plot::line(const std::vector<double>& x, const std::vector<double>& y, int colour,
                std::string_view css) {
  std::string path;
  bool open = false;
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) {
      open = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", open ? "L" : "M", px(x[i]), py(y[i]));
    open = true;
  }
  body_ += fmt::format("<path class=\"line c{} {}\" d=\"{}\"/>\n", colour % kColours, css, path);
}

void Plot::point(double x, double y, int colour, double radius, const std::string& tip,
                 std::string_view css) {
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  body_ += fmt::format(
      "<circle class=\"dot c{} {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
      "r=\"{}\"><title>{}</title></circle>\n",
      colour % kColours, css, px(x), py(y), radius, escape_markup(tip));
}

void Plot::interval(double x, double low, double high, int colour) {
  if (!std::isfinite(low) || !std::isfinite(high)) return;
  const double at = px(x), a = py(low), b = py(high);
  body_ += fmt::format(
      "<path class=\"line c{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}M{:.1f} {:.1f}h8M{:.1f} "
      "{:.1f}h8\"/>\n",
      colour % kColours, at, a, at, b, at - 4, a, at - 4, b);
}

void Plot::band(double from, double to, const std::string& tip) {
  const double a = px(std::max(from, x_.low)), b = px(std::min(to, x_.high));
  body_ += fmt::format(
      "<rect class=\"band\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" "
      "height=\"{:.1f}\"><title>{}</title>"
      "</rect>\n",
      a, kTop, std::max(0.0, b - a), height_ - kTop - kBottom, escape_markup(tip));
}

void Plot::reference(double y, const std::string& label) {
  body_ += fmt::format(
      "<path class=\"ideal\" d=\"M{} {:.1f}H{}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1f}\" "
      "text-anchor=\"end\">{}</text>\n",
      kLeft, py(y), width_ - kRight, width_ - kRight, py(y) - 4, escape_markup(label));
}

std::string Plot::svg() const {
  std::string out = fmt::format(
      "<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n<title>{}</title>\n",
      width_, height_, escape_markup(title_), escape_markup(title_));
  const double bottom = height_ - kBottom;
  for (const double tick : y_.ticks) {
    if (tick < y_.low || tick > y_.high) continue;
    out += fmt::format(
        "<path class=\"grid\" d=\"M{} {:.1f}H{}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>\n",
        kLeft, py(tick), width_ - kRight, kLeft - 6, py(tick) + 4, tick_text(tick, y_.percent));
  }
  for (const double tick : x_.ticks) {
    if (tick < x_.low || tick > x_.high) continue;
    out += fmt::format(
        "<path class=\"grid\" d=\"M{:.1f} {}V{}\"/><text class=\"tick\" x=\"{:.1f}\" y=\"{}\" "
        "text-anchor=\"middle\">{}</text>\n",
        px(tick), kTop, bottom, px(tick), bottom + 16, tick_text(tick, x_.percent));
  }
  out += fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>\n", kLeft, kTop, bottom,
                     width_ - kRight);
  out += body_;
  out += fmt::format(
      "<text class=\"label\" x=\"{:.0f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n"
      "<text class=\"label\" transform=\"translate(14 {:.0f}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n</svg>\n<figcaption>{}</figcaption></figure>\n",
      (kLeft + width_ - kRight) / 2, height_ - 8, escape_markup(x_.label), (kTop + bottom) / 2,
      escape_markup(y_.label), escape_markup(title_));
  return out;
}

std::string legend(const std::vector<std::string>& names) {
  std::string out = "<ul class=\"legend\">";
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += fmt::format("<li><span class=\"swatch c{}\"></span>{}</li>", i % kColours,
                       escape_markup(names[i]));
  }
  return out + "</ul>\n";
}

}  // namespace bertbench::html
