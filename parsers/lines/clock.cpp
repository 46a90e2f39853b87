#include "parsers/lines/clock.h"

#include <chrono>

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

std::optional<double> slash_time(std::string_view text, bool day_first) {
  const bool year_first = text.size() > 10 && text[4] == '/' && text[7] == '/';
  const bool named = year_first || (text.size() > 10 && text[5] == '/');
  const std::size_t front = year_first ? 5 : 0, end = named ? 10 : 5;
  const bool dashed =
      !named && text.size() > front + 2 && text[front + 2] == '-';  // "02-27 10:01:00"
  if (text.size() < end + 9 || (text[front + 2] != '/' && !dashed) || text[end] != ' ') {
    return std::nullopt;
  }
  const auto first = digits(text, front, 2), second = digits(text, front + 3, 2);
  const auto year = named ? digits(text, year_first ? 0 : 6, 4) : kLeapYear;
  if (!first || !second || !year) return std::nullopt;
  const bool swapped = day_first && !year_first;
  const auto date = days(*year, swapped ? *second : *first, swapped ? *first : *second);
  const auto time = time_of_day(text.substr(end + 1));
  if (!date || !time) return std::nullopt;
  return (*date - (named ? 0 : days(kLeapYear, 1, 1).value_or(0))) * 86400 + *time;
}

}  // namespace

std::optional<double> date_time(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' ||
      (text[10] != ' ' && text[10] != 'T')) {
    return std::nullopt;
  }
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  if (!year || !month || !day) return std::nullopt;
  const auto date = days(*year, *month, *day);
  const auto time = time_of_day(text.substr(11));
  if (!date || !time) return std::nullopt;
  return *date * 86400 + *time;
}

std::optional<double> date_time_within(std::string_view text, std::size_t reach) {
  const auto year = text.substr(0, reach + 1).find("20");
  return year == std::string_view::npos ? std::nullopt : date_time(text.substr(year));
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
  if (const auto time = date_time(text)) return Stamp{*time, true, true, end_of_time(text, 11)};
  if (const auto time = absl_time(text)) return Stamp{*time, false, true, end_of_time(text, 6)};
  if (const auto time = asctime_time(text)) return Stamp{*time, true, true, kAsctime};
  if (const auto time = slash_time(text, day_first)) {
    const bool named = *time >= kYear_s;
    return Stamp{*time, named, true, end_of_time(text, named ? 11 : 6)};
  }
  return std::nullopt;
}

std::optional<Stamp> any_stamp_or_time(std::string_view text, bool day_first) {
  if (const auto stamp = any_stamp(text, day_first)) return stamp;
  // "25-01-26 19:38:43.612": which of the three is the year is not known, the time of day is.
  constexpr std::size_t kDate = 9;  // bytes
  const bool dated = text.size() > kDate && text[2] == '-' && text[5] == '-' &&
                     text[kDate - 1] == ' ' && digits(text, 0, 2) && digits(text, 3, 2) &&
                     digits(text, 6, 2);
  if (const auto time = dated ? time_of_day(text.substr(kDate)) : std::nullopt) {
    return Stamp{*time, false, false, end_of_time(text, kDate)};
  }
  const auto time = text.size() >= 8 ? time_of_day(text) : std::nullopt;
  if (!time) return std::nullopt;
  return Stamp{*time, false, false, end_of_time(text, 0)};
}

double YearClock::at(const Stamp& stamp) {
  if (stamp.names_year) return stamp.seconds;
  const double period_s = stamp.names_day ? kYear_s : kDay_s;
  if (any_ && newest_s_ - (stamp.seconds + wrap_s_) > period_s / 2) wrap_s_ += period_s;
  any_ = true;
  newest_s_ = stamp.seconds + wrap_s_;
  return newest_s_;
}

}  // namespace bertbench
