#include "parsers/lines/spelled_duration.h"

#include <array>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

/// Seconds of a unit by its first letter: all spellings begin with one of four.
double seconds_of(std::string_view unit) {
  constexpr std::array<std::string_view, 20> kNames = {
      "d",    "day",    "days",    "h", "hr",  "hrs",  "hour",   "hours",   "m",     "min",
      "mins", "minute", "minutes", "s", "sec", "secs", "second", "seconds", "Hours", "Minutes"};
  bool known = false;
  for (const std::string_view name : kNames) known = known || name == unit;
  if (!known) return 0;
  switch (unit[0]) {
    case 'd':
      return 86'400;
    case 'h':
    case 'H':
      return 3'600;
    case 'm':
    case 'M':
      return 60;
    default:
      return 1;
  }
}

}  // namespace

std::optional<SpelledDuration> spelled_duration(std::string_view text) {
  Cursor cursor(text, false);
  SpelledDuration out;
  double above = 1e9;  // units grow smaller
  int parts = 0;
  while (!cursor.rest().empty() && is_digit(cursor.rest()[0])) {
    const auto number = cursor.number();
    if (!number) break;
    cursor.literal(" ");
    std::size_t length = 0;
    const std::string_view rest = cursor.rest();
    while (length < rest.size() && ((rest[length] >= 'a' && rest[length] <= 'z') ||
                                    (length == 0 && rest[length] >= 'A' && rest[length] <= 'Z'))) {
      ++length;
    }
    const double unit = length == 0 ? 0 : seconds_of(rest.substr(0, length));
    if (unit == 0 || unit >= above) break;
    above = unit;
    out.seconds += *number * unit;
    cursor.move_to(cursor.at() + length);
    out.length = cursor.at();
    ++parts;
    cursor.literal(",");
    cursor.literal(" ");
    cursor.literal("and ");
  }
  if (parts < 2) return std::nullopt;
  return out;
}

}  // namespace bertbench
