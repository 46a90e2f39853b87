// The functions through which strings enter HTML, SVG, XML and printed JSON.
#pragma once

#include <string>
#include <string_view>

namespace bertbench {

/// Text for element content or a double-quoted attribute: & < > " ' become references; control
/// characters, bidi controls and bytes that are not UTF-8 become visible escapes (\x1B), so
/// the result is valid UTF-8 and valid XML 1.0 whatever goes in.
[[nodiscard]] std::string escape_markup(std::string_view text);

/// "&amp;" for '&', likewise '<' and '>'; empty for other characters.
[[nodiscard]] std::string_view markup_reference(char c);

/// JSON text with DEL, C1 controls and bidi controls, which only its strings can hold, as \uNNNN:
/// the same values, but a terminal that shows it runs nothing and turns no text around.
[[nodiscard]] std::string printable_json(std::string json);

}  // namespace bertbench
