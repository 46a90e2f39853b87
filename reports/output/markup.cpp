#include "reports/output/markup.h"

#include <fmt/format.h>

#include <algorithm>

#include "parsers/core/text.h"

namespace bertbench {

std::string_view markup_reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    default:
      return {};
  }
}

std::string escape_markup(std::string_view text) {
  const std::string safe = escape_for_terminal(text);
  std::string out;
  out.reserve(safe.size());
  for (std::size_t at = 0; at < safe.size(); ++at) {
    switch (safe[at]) {
      case '&':
      case '<':
      case '>':
        out += markup_reference(safe[at]);
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\xEF': {
        // U+FFFE and U+FFFF are valid UTF-8 but no XML characters.
        char32_t code = 0;
        const std::size_t length = decode_utf8(std::string_view(safe).substr(at), code);
        const bool allowed = code != 0xFFFE && code != 0xFFFF;
        out += allowed ? std::string_view(safe).substr(at, length) : "\xEF\xBF\xBD";
        at += length - 1;
        break;
      }
      default:
        out += safe[at];
    }
  }
  return out;
}

std::string printable_json(std::string json) {
  // Nearly always nothing is to be done: then nothing is copied.
  const auto hostile = [](char c) {
    return c == '\x7F' || c == '\xC2' || c == '\xD8' || c == '\xE2';
  };
  if (std::none_of(json.begin(), json.end(), hostile)) return json;
  std::string out;
  out.reserve(json.size() + 64);
  for (std::size_t at = 0; at < json.size();) {
    char32_t code = 0;
    const std::string_view rest = std::string_view(json).substr(at);
    const std::size_t length = std::max<std::size_t>(1, decode_utf8(rest, code));
    // What the terminal's own rules would not show as it stands; line ends are the JSON's own.
    if (code >= 0x7F && escape_for_terminal(rest.substr(0, length)) != rest.substr(0, length)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(code));
    } else {
      out += rest.substr(0, length);
    }
    at += length;
  }
  return out;
}

}  // namespace bertbench
