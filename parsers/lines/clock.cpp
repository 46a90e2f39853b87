#include "parsers/lines/clock.h"

#include <chrono>
#include <cstdint>

namespace bertbench {
namespace {

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

std::optional<double> days(int year, int month, int day) {
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year),
                            std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(sys_days(date).time_since_epoch().count());
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

std::optional<double> absl_time(std::string_view text) {
  if (text.size() < 14 || (text[0] != 'I' && text[0] != 'W' && text[0] != 'E' && text[0] != 'F') ||
      text[5] != ' ') {
    return std::nullopt;
  }
  const auto month = digits(text, 1, 2), day = digits(text, 3, 2);
  if (!month || !day) return std::nullopt;
  const auto date = days(2000, *month, *day);  // a leap year: 29 February is a date
  const auto start = days(2000, 1, 1);
  const auto time = time_of_day(text.substr(6));
  if (!date || !time) return std::nullopt;
  return (*date - *start) * 86400 + *time;
}

}  // namespace bertbench
