#include "reports/markup.h"

#include "parsers/core/text.h"

namespace bertbench {

std::string escape_markup(std::string_view text) {
  const std::string safe = escape_for_terminal(text);
  std::string out;
  out.reserve(safe.size());
  for (const char c : safe) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  // U+FFFE and U+FFFF are valid UTF-8 but no XML characters.
  for (const std::string_view bad : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (std::size_t at = 0; (at = out.find(bad, at)) != std::string::npos;)
      out.replace(at, bad.size(), "\xEF\xBF\xBD");
  return out;
}

std::string escape_json_for_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace bertbench
