#include "parsers/lines/argument_text.h"

#include <algorithm>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

std::optional<std::string_view> argument(std::string_view text, std::string_view name) {
  for (Cursor cursor(text, false); cursor.read(Word{name});) {
    std::string_view rest = cursor.rest();
    // An argument vector as Python prints it: ['--micro-batch-size', '4'].
    if (rest.starts_with("', '")) rest.remove_prefix(4);
    rest.remove_prefix(std::min(rest.find_first_not_of(" =:.\"'"), rest.size()));
    std::size_t end = 0;
    while (end < rest.size() && (is_name_char(rest[end]) || rest[end] == '.' || rest[end] == '-'))
      ++end;
    if (end > 0) return rest.substr(0, end);
  }
  return std::nullopt;
}

std::optional<std::int64_t> count(std::string_view text) {
  if (text.ends_with(".0")) text.remove_suffix(2);
  const auto value = to_int(text);
  return value && *value >= 1 && *value <= 1'000'000'000 ? value : std::nullopt;
}

std::optional<std::int64_t> count_of(std::string_view text,
                                     std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto value = argument(text, name);
    if (value && count(*value)) return count(*value);
  }
  return std::nullopt;
}

std::optional<std::int64_t> count_of_list(std::string_view text) {
  const auto parts = split(text, ',');
  const bool numbers =
      std::ranges::all_of(parts, [](auto part) { return to_int(trim(part)).has_value(); });
  return numbers ? std::optional(std::ssize(parts)) : std::nullopt;
}

}  // namespace bertbench
