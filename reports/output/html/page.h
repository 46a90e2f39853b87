// The frame of a self-contained page: style, scripts and figures in one file, no outside reference.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "reports/output/plot/figure.h"

namespace bertbench::html {

struct PageText {
  std::string title;   ///< text, not HTML
  std::string header;  ///< HTML below the title
  std::string body;    ///< HTML
  std::string footer;  ///< text
};

/// The page. Its security policy allows its own scripts by their hashes and nothing from outside.
void write_page(const PageText& text, std::ostream& out);
/// The same as text, with this program's version at its foot.
[[nodiscard]] std::string page_of(const std::string& title, const std::string& body);

/// The <figure> element. The marks of the plot have titles; the script of the page shows them.
[[nodiscard]] std::string figure_element(const plot::Figure& figure);

/// "<section><h2>title</h2>body</section>", or nothing without a body.
[[nodiscard]] std::string section(std::string_view title, const std::string& body);

/// "<p class=small>" of plain text.
[[nodiscard]] std::string small(std::string_view text);
/// "The first 8 of 12 maps." in the same way; nothing where all are shown.
[[nodiscard]] std::string first_of(std::size_t shown, std::size_t all, std::string_view what);

}  // namespace bertbench::html
