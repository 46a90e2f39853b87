#include "parsers/lines/spelled_duration.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

std::optional<double> seconds_of_unit(std::string_view unit) {
  struct Unit {
    double seconds;
    std::array<std::string_view, 14> names;
  };
  static constexpr std::array<Unit, 7> kUnits = {
      {{1e-9, {"ns", "nsec", "nanosecond", "nanoseconds"}},
       {1e-6, {"us", "µs", "μs", "usec", "micros", "microsecond", "microseconds"}},
       {1e-3, {"ms", "msec", "millis", "millisecond", "milliseconds"}},
       {1,
        {"s", "sec", "secs", "second", "seconds", "秒", "초", "с", "сек", "sekunden", "segundos",
         "secondes", "secondi", "секунд"}},
       {60,
        {"m", "min", "mins", "minute", "minutes", "分", "분", "分钟", "minuten", "minutos",
         "minuti", "мин", "минут"}},
       {3'600,
        {"h", "hr", "hrs", "hour", "hours", "小时", "시간", "時間", "stunden", "horas", "heures"}},
       {86'400, {"d", "day", "days"}}}};
  constexpr std::string_view kFirstLetters = "numshd";
  if (unit.empty()) return std::nullopt;
  if (is_letter(unit[0]) && kFirstLetters.find(unit[0]) == kFirstLetters.npos) return std::nullopt;
  for (const Unit& one : kUnits) {
    if (std::ranges::find(one.names, unit) != one.names.end()) return one.seconds;
  }
  return std::nullopt;
}

std::optional<SpelledDuration> spelled_duration(std::string_view text) {
  Cursor cursor(text, false);
  SpelledDuration out;
  double above = std::numeric_limits<double>::infinity();  // units grow smaller
  int parts = 0;
  while (!cursor.rest().empty() && is_digit(cursor.rest()[0])) {
    const auto number = cursor.number();
    if (!number) break;
    cursor.literal(" ");
    std::string unit;  // "Hours" too
    for (const char c : cursor.rest()) {
      if (!is_any_letter(c)) break;
      unit += lower(c);
    }
    const auto seconds = seconds_of_unit(unit);
    if (!seconds || *seconds >= above) break;
    above = *seconds;
    out.seconds += *number * *seconds;
    cursor.move_to(cursor.at() + unit.size());
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
