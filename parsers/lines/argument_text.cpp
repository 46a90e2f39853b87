#include "parsers/lines/argument_text.h"

#include <algorithm>

#include "parsers/core/text.h"

namespace bertbench {

std::optional<std::string_view> argument(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    if (at > 0 && is_name_char(text[at - 1])) continue;
    std::size_t i = at + name.size();
    if (i < text.size() && is_name_char(text[i])) continue;
    // An argument vector as Python prints it: ['--micro-batch-size', '4'].
    if (text.substr(i).starts_with("', '")) i += 4;
    while (i < text.size() && (text[i] == ' ' || text[i] == '=' || text[i] == ':' ||
                               text[i] == '.' || text[i] == '"' || text[i] == '\'')) {
      ++i;
    }
    std::size_t end = i;
    while (end < text.size() && (is_name_char(text[end]) || text[end] == '.' || text[end] == '-'))
      ++end;
    if (end > i) return text.substr(i, end - i);
  }
  return std::nullopt;
}

std::optional<std::int64_t> count(std::string_view text) {
  if (text.ends_with(".0")) text.remove_suffix(2);
  const auto value = to_int(text);
  return value && *value >= 1 && *value <= 1'000'000'000 ? value : std::nullopt;
}

std::optional<std::int64_t> count_of_list(std::string_view text) {
  const auto parts = split(text, ',');
  const bool numbers =
      std::ranges::all_of(parts, [](auto part) { return to_int(part).has_value(); });
  return numbers ? std::optional(std::ssize(parts)) : std::nullopt;
}

}  // namespace bertbench
