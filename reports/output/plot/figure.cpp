#include "reports/output/plot/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bertbench::plot {

std::vector<double> nice_ticks(double low, double high, int count) {
  if (!(high > low)) return {low};
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
    ticks.push_back(i * step + 0.0);  // a -0 becomes 0
  }
  return ticks;
}

std::vector<double> decade_ticks(double low, double high) {
  std::vector<double> ticks;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double tick = digit * decade;
      if (tick >= low && tick <= high) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::string tick_text(double value, bool percent) {
  if (percent) return fmt::format("{:.4g} %", value * 100);
  const double size = std::fabs(value);
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

void settle(Figure& figure) {
  if (!figure.y.rows.empty()) {
    figure.y.low = -0.5;
    figure.y.high = static_cast<double>(figure.y.rows.size()) - 0.5;
    figure.y.ticks.clear();
    for (std::size_t i = 0; i < figure.y.rows.size(); ++i) {
      figure.y.ticks.push_back(static_cast<double>(i));
    }
  }
  for (Axis* axis : {&figure.x, &figure.y}) {
    if (!(axis->high > axis->low)) axis->high = axis->low + 1;
    if (axis->ticks.empty()) axis->ticks = nice_ticks(axis->low, axis->high, 5);
  }
  for (Series& series : figure.series) {
    std::erase_if(series.points,
                  [](const Point& p) { return !std::isfinite(p.x) || !std::isfinite(p.y); });
  }
}

}  // namespace bertbench::plot
