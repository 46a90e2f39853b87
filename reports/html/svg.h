// A small plot: linear or base-2 axes, lines, points, interval bars, as SVG text that follows the
// page's theme through CSS classes. Everything that is text goes through escape_markup.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bertbench::html {

/// How values of an axis are placed.
enum class Scale { linear, log2 };

struct Axis {
  std::string label;
  double low = 0, high = 1;  ///< range shown; log2 needs low > 0
  Scale scale = Scale::linear;
  std::vector<double> ticks;  ///< empty: chosen by nice_ticks
  bool percent = false;       ///< tick labels as percentages of a fraction
};

/// At most `count` + 2 round numbers (1, 2, 2.5, 5 times a power of ten) that cover low..high.
[[nodiscard]] std::vector<double> nice_ticks(double low, double high, int count);

/// One plot of a fixed view box; x and y in data units. Colours are the CSS classes c0 .. c7.
class Plot {
 public:
  Plot(std::string title, Axis x, Axis y, int width = 560, int height = 320);

  void line(const std::vector<double>& x, const std::vector<double>& y, int colour,
            std::string_view css = "");
  /// A point with a tooltip.
  void point(double x, double y, int colour, double radius, const std::string& tip,
             std::string_view css = "");
  /// A vertical interval with caps.
  void interval(double x, double low, double high, int colour);
  /// A vertical band over the whole height, x from..to.
  void band(double from, double to, const std::string& tip);
  /// A horizontal reference line with a label at its end.
  void reference(double y, const std::string& label);

  [[nodiscard]] std::string svg() const;

 private:
  [[nodiscard]] double px(double x) const;
  [[nodiscard]] double py(double y) const;
  std::string title_;
  Axis x_, y_;
  int width_, height_;
  std::string body_;
};

/// "<ul class=legend>" of names in colours 0, 1, 2 ...
[[nodiscard]] std::string legend(const std::vector<std::string>& names);

inline constexpr int kColours = 8;

}  // namespace bertbench::html
