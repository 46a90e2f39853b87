// What drawings of all kinds share: the <svg> element, its style, the width of text.
#pragma once

#include <string>
#include <string_view>

namespace bertbench::plot {

struct Drawing {
  double width = 0, height = 0;
  std::string title;  ///< text
  std::string body;   ///< SVG
  bool file = false;  ///< a file of its own, which brings figure.css along
};
[[nodiscard]] std::string svg_element(const Drawing& drawing);

/// The title of a file, on its first line.
[[nodiscard]] std::string title_line(std::string_view title);

/// About how wide text of the size of labels is, in units of the view box.
[[nodiscard]] double text_width(std::string_view text);

}  // namespace bertbench::plot
