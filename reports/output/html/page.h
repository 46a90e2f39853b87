// The frame of a self-contained page: style, scripts and figures in one file, no outside reference.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "reports/output/plot/figure.h"

namespace bertbench::html {

/// Figures of a page. Each stands in it as static SVG, which print and pages without script show;
/// the script draws it anew with the chart library, with tooltips, zoom and a legend that filters.
class Figures {
 public:
  /// The <figure> element.
  [[nodiscard]] std::string add(const plot::Figure& figure);
  /// The data of all, one line a figure, safe inside a <script> element.
  [[nodiscard]] std::string data() const;

 private:
  std::vector<std::string> data_;
};

struct PageText {
  std::string title;   ///< text, not HTML
  std::string header;  ///< HTML below the title
  std::string body;    ///< HTML
  std::string footer;  ///< text
};

/// The page. Its security policy allows its own scripts by their hashes and nothing from outside.
void write_page(const PageText& text, const Figures& figures, std::ostream& out);

/// "<section><h2>title</h2>body</section>", or nothing without a body.
[[nodiscard]] std::string section(std::string_view title, const std::string& body);

/// "<p class=small>" of plain text.
[[nodiscard]] std::string small(std::string_view text);

/// True when the chart library was there when this program was built.
[[nodiscard]] bool has_chart_library();

}  // namespace bertbench::html
