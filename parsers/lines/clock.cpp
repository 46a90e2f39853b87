#include "parsers/lines/clock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "parsers/core/record.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr int kLeapYear = 2000;       ///< of stamps without one: 29 February is a date
constexpr std::size_t kAsctime = 24;  ///< bytes of "Thu Jun 29 05:44:10 2023"
constexpr double kDay_s = 86400, kYear_s = 366 * kDay_s;

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t n) {
  if (at + n > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + n; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// "hh:mm:ss[.fraction]"
std::optional<double> time_of_day(std::string_view text) {
  const auto h = digits(text, 0, 2), m = digits(text, 3, 2), s = digits(text, 6, 2);
  if (!h || !m || !s || text[2] != ':' || text[5] != ':' || *h > 23 || *m > 59 || *s > 60) {
    return std::nullopt;
  }
  double value = *h * 3600.0 + *m * 60.0 + *s;
  if (text.size() > 8 && (text[8] == '.' || text[8] == ',')) {
    double unit = 0.1;
    for (std::size_t i = 9; i < text.size() && i < 18 && text[i] >= '0' && text[i] <= '9'; ++i) {
      value += unit * (text[i] - '0');
      unit /= 10;
    }
  }
  return value;
}

constexpr std::size_t kMinutes = 5;  ///< bytes of "hh:mm"

/// "hh:mm", where no further number belongs to it.
std::optional<double> time_of_minutes(std::string_view text) {
  const auto h = digits(text, 0, 2), m = digits(text, 3, 2);
  if (!h || !m || text[2] != ':' || *h > 23 || *m > 59 || digits(text, kMinutes, 1) ||
      (text.size() > kMinutes + 1 && !is_letter(text[kMinutes]) && digits(text, kMinutes + 1, 1))) {
    return std::nullopt;
  }
  return *h * 3600.0 + *m * 60.0;
}

/// After the "hh:mm:ss[.fraction]" that begins at `at`.
std::size_t end_of_time(std::string_view text, std::size_t at) {
  std::size_t end = at + 8;
  if (end + 1 >= text.size() || (text[end] != '.' && text[end] != ',') ||
      !digits(text, end + 1, 1)) {
    return end;
  }
  ++end;
  while (end < text.size() && digits(text, end, 1)) ++end;
  return end;
}

std::optional<double> days(int year, int month, int day) {
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year),
                            std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(sys_days(date).time_since_epoch().count());
}

/// Bytes that part a date from the time at `at`: a blank, 'T', or marks that join the two.
std::size_t join_length(std::string_view text, std::size_t at) {
  if (at >= text.size()) return 0;
  const std::string_view rest = text.substr(at);
  const char c = rest[0], next = rest.size() > 1 ? rest[1] : '\0';
  if (c == ' ') return next == '-' && rest.starts_with(" - ") ? 3 : 1;
  if ((c == '-' && next == '-') || (c == ',' && next == ' ')) return 2;
  return c == 'T' || c == '-' || c == '_' || c == ',' ? 1 : 0;
}

/// "120034", "12-00-34": the marks of a time that stands in the name of a file as well.
std::optional<double> time_without_colons(std::string_view text) {
  const bool marked = text.size() > 2 && (text[2] == '-' || text[2] == '_');
  const std::size_t part = marked ? 3 : 2;
  if (marked && (text.size() < 8 || text[5] != text[2])) return std::nullopt;
  const auto h = digits(text, 0, 2), m = digits(text, part, 2), s = digits(text, 2 * part, 2);
  const std::size_t end = 2 * part + 2;
  if (!h || !m || !s || *h > 23 || *m > 59 || *s > 60 || digits(text, end, 1)) return std::nullopt;
  return *h * 3600.0 + *m * 60.0 + *s;
}

/// "2023-11-23-12:00:34", "2023.11.23_12:00:34", "20231123-12:00:34": a year, a month and a day in
/// any marks, joined to the time by any mark; `without_colons`, also "20231123-120034".
std::optional<Stamp> joined_time(std::string_view text, bool without_colons) {
  constexpr std::string_view kMarks = "-/._";
  constexpr int kOldest = 1970, kNewest = 2099;  // other numbers are no years
  const bool marked = text.size() > 7 && kMarks.find(text[4]) != std::string_view::npos;
  if (marked && text[7] != text[4]) return std::nullopt;
  const std::size_t part = marked ? 3 : 2;
  const auto year = digits(text, 0, 4), month = digits(text, marked ? 5 : 4, 2),
             day = digits(text, (marked ? 5 : 4) + part, 2);
  if (!year || !month || !day || *year < kOldest || *year > kNewest) return std::nullopt;
  const std::size_t end = (marked ? 5 : 4) + part + 2, join = join_length(text, end);
  const auto date = join > 0 ? days(*year, *month, *day) : std::nullopt;
  if (!date) return std::nullopt;
  const std::string_view rest = text.substr(end + join);
  if (const auto time = rest.size() < 8 ? std::nullopt : time_of_day(rest)) {
    return Stamp{*date * 86400 + *time, true, true, end_of_time(text, end + join)};
  }
  if (const auto time = marked ? time_of_minutes(rest) : std::nullopt) {
    return Stamp{*date * 86400 + *time, true, true, end + join + kMinutes, true};
  }
  if (!without_colons) return std::nullopt;
  // Next to a blank six digits may be another number.
  if (text[end] == ' ' && (!marked || rest.size() < 3 || is_digit(rest[2]))) return std::nullopt;
  const auto time = time_without_colons(rest);
  if (!time) return std::nullopt;
  const std::size_t length = rest[2] == '-' || rest[2] == '_' ? 8 : 6;
  return Stamp{*date * 86400 + *time, true, true, end + join + length};
}

std::optional<double> asctime_time(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() < kAsctime || text[3] != ' ' || text[7] != ' ' || text[10] != ' ' ||
      text[19] != ' ') {
    return std::nullopt;
  }
  const auto month = kMonths.find(text.substr(4, 3));
  const auto day = text[8] == ' ' ? digits(text, 9, 1) : digits(text, 8, 2);
  const auto year = digits(text, 20, 4);
  if (month == std::string_view::npos || month % 3 != 0 || !day || !year) return std::nullopt;
  const auto date = days(*year, static_cast<int>(month / 3) + 1, *day);
  const auto time = time_of_day(text.substr(11));
  if (!date || !time) return std::nullopt;
  return *date * 86400 + *time;
}

}  // namespace

int month_named(std::string_view word) {
  constexpr auto kMonths = std::to_array<std::string_view>(
      {"January", "February", "March", "April", "May", "June", "July", "August", "September",
       "October", "November", "December"});
  constexpr std::size_t kLettersOfAName = 3;  // letters: "Jan"
  const auto month = std::ranges::find_if(kMonths, [&](std::string_view name) {
    return word == name || word == name.substr(0, kLettersOfAName);
  });
  return month == kMonths.end() ? 0 : static_cast<int>(month - kMonths.begin()) + 1;
}

namespace {

/// "May 14 15:20:15" of syslog, "14-May-2024 15:20:15", "14 May 2024 15:20:15", "May 14, 2024
/// 15:20:15": a day and the name of a month in any marks, then a year or none, joined to the time
/// by any mark.
std::optional<Stamp> named_month_time(std::string_view text) {
  std::size_t at = 0;
  const auto number = [&](std::size_t most) {
    std::size_t n = 0;
    while (n < most && at + n < text.size() && is_digit(text[at + n])) ++n;
    const auto value = n > 0 ? digits(text, at, n) : std::nullopt;
    at += n;
    return value;
  };
  const auto name = [&] {
    const std::size_t begin = at;
    while (at < text.size() && is_letter(text[at])) ++at;
    return month_named(text.substr(begin, at - begin));
  };
  const auto mark = [&](std::string_view marks) {
    const bool is = at < text.size() && marks.find(text[at]) != std::string_view::npos;
    at += is ? 1 : 0;
    return is;
  };
  constexpr std::string_view kMarks = " -/.";
  const bool day_first = !text.empty() && is_digit(text[0]);
  std::optional<int> day = day_first ? number(2) : std::nullopt;
  if (day_first && !mark(kMarks)) return std::nullopt;
  const int month = name();
  if (month == 0) return std::nullopt;
  if (!day_first) {
    if (!mark(kMarks)) return std::nullopt;
    mark(" ");  // days below ten
    day = number(2);
  }
  constexpr std::size_t kYear = 4;  // digits
  std::size_t year_at = at;
  while (year_at < text.size() && year_at < at + 2 &&
         std::string_view(" -/.,").find(text[year_at]) != std::string_view::npos) {
    ++year_at;
  }
  const bool named = year_at > at && digits(text, year_at, kYear).has_value();
  if (named) at = year_at;
  const auto year = named ? number(kYear) : kLeapYear;
  // "14/May/2024:15:20:15"
  const std::size_t join = text.substr(at).starts_with(':') ? 1 : join_length(text, at);
  if (join == 0) return std::nullopt;
  at += join;
  const auto date = day ? days(*year, month, *day) : std::nullopt;
  const std::string_view rest = text.substr(std::min(at, text.size()));
  const auto time = rest.size() >= 8 ? time_of_day(rest) : std::nullopt;
  if (!date || !time) return std::nullopt;
  const double start = named ? 0 : days(kLeapYear, 1, 1).value_or(0);
  return Stamp{(*date - start) * 86400 + *time, named, true, end_of_time(text, at)};
}

/// "04/30/2025 09:15:07", "30-04-2025 09:15:07", "09/19 14:39:40" and "09-19 14:39:40".
std::optional<Stamp> slash_time(std::string_view text, bool day_first) {
  if (text.size() < 3 || (text[2] != '/' && text[2] != '-')) return std::nullopt;
  const bool named = text.size() > 10 && text[5] == text[2];
  const std::size_t end = named ? 10 : 5;
  const std::size_t join = named || text.substr(std::min(end, text.size())).starts_with(' ')
                               ? join_length(text, end)
                               : 0;
  if (join == 0 || text.size() < end + join + 8) return std::nullopt;
  const auto first = digits(text, 0, 2), second = digits(text, 3, 2);
  const auto year = named ? digits(text, 6, 4) : kLeapYear;
  if (!first || !second || !year) return std::nullopt;
  const auto date = days(*year, day_first ? *second : *first, day_first ? *first : *second);
  const auto time = time_of_day(text.substr(end + join));
  if (!date || !time) return std::nullopt;
  const double start = named ? 0 : days(kLeapYear, 1, 1).value_or(0);
  return Stamp{(*date - start) * 86400 + *time, named, true, end_of_time(text, end + join)};
}

/// With the " PM" after a time of twelve hours, as "%I:%M:%S %p" prints it.
Stamp with_half_of_day(std::string_view text, Stamp stamp) {
  constexpr double kHalf_s = kDay_s / 2, kHour_s = 3600;
  const std::string_view rest = text.substr(std::min(stamp.length, text.size()));
  if (rest.size() < 3 || rest[0] != ' ' || (rest[2] != 'M' && rest[2] != 'm')) return stamp;
  const bool before = rest[1] == 'A' || rest[1] == 'a', after = rest[1] == 'P' || rest[1] == 'p';
  const double hour = std::floor(std::fmod(stamp.seconds, kDay_s) / kHour_s);
  if ((!before && !after) || hour > 12 || (rest.size() > 3 && is_letter(rest[3]))) return stamp;
  if (hour == 12) stamp.seconds -= kHalf_s;
  if (after) stamp.seconds += kHalf_s;
  stamp.length += 3;
  return stamp;
}

}  // namespace

std::optional<double> date_time(std::string_view text) {
  const auto stamp = joined_time(text, false);
  return stamp ? std::optional(stamp->seconds) : std::nullopt;
}

std::optional<double> absl_time(std::string_view text) {
  if (text.size() < 14 || (text[0] != 'I' && text[0] != 'W' && text[0] != 'E' && text[0] != 'F') ||
      text[5] != ' ') {
    return std::nullopt;
  }
  const auto month = digits(text, 1, 2), day = digits(text, 3, 2);
  if (!month || !day) return std::nullopt;
  const auto date = days(kLeapYear, *month, *day);
  const auto start = days(kLeapYear, 1, 1);
  const auto time = time_of_day(text.substr(6));
  if (!date || !time) return std::nullopt;
  return (*date - *start) * 86400 + *time;
}

std::optional<Stamp> any_stamp(std::string_view text, bool day_first) {
  if (const auto stamp = joined_time(text, false)) {
    return with_half_of_day(text, *stamp);
  }
  if (const auto time = absl_time(text)) return Stamp{*time, false, true, end_of_time(text, 6)};
  // "I20240131 23:59:14.282913" of later ones, with the year.
  constexpr std::string_view kLevels = "IWEF";
  if (text.size() > 1 && kLevels.find(text[0]) != text.npos && is_digit(text[1])) {
    if (auto stamp = joined_time(text.substr(1), false)) {
      ++stamp->length;
      return stamp;
    }
  }
  if (const auto time = asctime_time(text)) return Stamp{*time, true, true, kAsctime};
  if (const auto stamp = named_month_time(text)) return with_half_of_day(text, *stamp);
  if (const auto stamp = slash_time(text, day_first)) return with_half_of_day(text, *stamp);
  // "25-01-26 19:38:43.612", "26.01.25 19:38:43", "08/26/21 06:56:09": which of the three is the
  // year is not known, the time of day is.
  constexpr std::size_t kDate = 9;  // bytes
  const bool dated = text.size() > kDate && (text[2] == '-' || text[2] == '.' || text[2] == '/') &&
                     text[5] == text[2] && text[kDate - 1] == ' ' && digits(text, 0, 2) &&
                     digits(text, 3, 2) && digits(text, 6, 2);
  if (const auto time = dated ? time_of_day(text.substr(kDate)) : std::nullopt) {
    return Stamp{*time, false, false, end_of_time(text, kDate)};
  }
  return std::nullopt;
}

std::optional<Stamp> front_stamp(std::string_view line, bool or_time) {
  constexpr std::size_t kReach = 64;  // bytes
  constexpr std::string_view kBefore = " [:";
  for (std::size_t at = 0; at < std::min(kReach, line.size()); ++at) {
    if (at > 0 && kBefore.find(line[at - 1]) == std::string_view::npos) continue;
    const std::string_view text = line.substr(at);
    // Stamps begin with a digit, a letter before one or the name of a day: most words are none.
    const bool may =
        is_digit(text[0]) || (text.size() > 3 && (is_digit(text[1]) || text[3] == ' '));
    if (!may) continue;
    if (const auto stamp = or_time ? any_stamp_or_time(text) : any_stamp(text)) return stamp;
  }
  return std::nullopt;
}

double front_time(std::string_view line) {
  const auto stamp = front_stamp(line);
  return stamp ? stamp->seconds : kUnknown;
}

std::optional<Stamp> any_stamp_or_time(std::string_view text, bool day_first) {
  if (const auto stamp = any_stamp(text, day_first)) return stamp;
  if (const auto stamp = joined_time(text, true)) return stamp;
  const auto time = text.size() >= 8 ? time_of_day(text) : std::nullopt;
  if (!time) return std::nullopt;
  return Stamp{*time, false, false, end_of_time(text, 0)};
}

double YearClock::at(const Stamp& stamp) {
  if (stamp.names_year || std::isnan(stamp.seconds)) return stamp.seconds;
  const double period_s = stamp.names_day ? kYear_s : kDay_s;
  if (any_ && newest_s_ - (stamp.seconds + wrap_s_) > period_s / 2) wrap_s_ += period_s;
  any_ = true;
  newest_s_ = stamp.seconds + wrap_s_;
  return newest_s_;
}

}  // namespace bertbench
