#include "reports/output/plot/svg_parts.h"

#include <fmt/format.h>

#include "reports/output/markup.h"
#include "reports/output/table.h"

namespace bertbench {

extern const char* const kFigureStyle;  // plot/figure.css

namespace plot {

std::string svg_element(const Drawing& drawing) {
  const std::string title = escape_markup(drawing.title);
  // In a page a drawing fills its place, but keeps about its own size: its letters stay readable.
  return fmt::format(
      "<svg {}viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\"{}>\n<title>{}</title>\n"
      "{}{}</svg>\n",
      drawing.file ? "xmlns=\"http://www.w3.org/2000/svg\" class=\"file\" " : "", drawing.width,
      drawing.height, title,
      drawing.file ? ""
                   : fmt::format(" style=\"max-width: {:.0f}px; min-width: {:.0f}px\"",
                                 1.1 * drawing.width, 0.75 * drawing.width),
      title, drawing.file ? fmt::format("<style>\n{}</style>\n", kFigureStyle) : std::string(),
      drawing.body);
}

std::string title_line(std::string_view title) {
  return fmt::format("<text class=\"label\" x=\"10\" y=\"18\" font-weight=\"600\">{}</text>\n",
                     escape_markup(title));
}

double text_width(std::string_view text) { return 7.0 * static_cast<double>(display_width(text)); }

}  // namespace plot
}  // namespace bertbench
