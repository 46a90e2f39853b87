// A figure as SVG text. Everything that is text goes through escape_markup.
#pragma once

#include <string>

#include "reports/output/plot/figure.h"

namespace bertbench::plot {

/// For a page that has the style sheet of the report: colours are its CSS classes c0 .. c7.
[[nodiscard]] std::string inline_svg(Figure figure);

/// A file of its own, with its style, for Markdown and papers; follows a dark theme.
[[nodiscard]] std::string svg_file(Figure figure);

}  // namespace bertbench::plot
