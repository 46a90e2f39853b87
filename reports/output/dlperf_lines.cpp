#include "reports/output/dlperf_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parsers/core/text.h"

namespace bertbench::dlperf {

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t n = 0;
  while (at + n < text.size() && digit(text[at + n])) ++n;
  return n;
}

/// The first "<key><digits>.<digits><tail>" of the line.
std::optional<double> decimal_between(std::string_view text, std::string_view key,
                                      std::string_view tail) {
  for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::size_t begin = at + key.size();
    const std::size_t whole = digits_at(text, begin);
    const std::size_t point = begin + whole;
    if (whole == 0 || point >= text.size() || text[point] != '.') continue;
    const std::size_t fraction = digits_at(text, point + 1);
    const std::size_t end = point + 1 + fraction;
    if (fraction > 0 && text.substr(end).starts_with(tail)) {
      return to_double(text.substr(begin, end - begin));
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> integer_at(std::string_view text, std::size_t at) {
  const std::size_t n = digits_at(text, at);
  return n > 0 && n < 16 ? to_int(text.substr(at, n)) : std::nullopt;
}

/// "H:M:S.ffffff" at `at`, in microseconds.
std::optional<std::int64_t> time_of_day(std::string_view text, std::size_t at) {
  std::int64_t parts[3] = {};
  for (int i = 0; i < 3; ++i) {
    const std::size_t n = digits_at(text, at);
    if (n < 1 || n > 2) return std::nullopt;
    parts[i] = *to_int(text.substr(at, n));
    at += n;
    if (at >= text.size() || text[at] != (i < 2 ? ':' : '.')) return std::nullopt;
    ++at;
  }
  const std::size_t n = std::min<std::size_t>(6, digits_at(text, at));
  if (n == 0) return std::nullopt;
  std::int64_t micros = *to_int(text.substr(at, n));
  for (std::size_t k = n; k < 6; ++k) micros *= 10;
  return ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1'000'000 + micros;
}

/// The first "YYYY-M-D H:M:S.ffffff" of the line, in microseconds since some day.
std::optional<std::int64_t> date_and_time(std::string_view text) {
  for (std::size_t at = 0; at + 16 < text.size(); ++at) {
    if (!digit(text[at]) || digits_at(text, at) != 4 || text[at + 4] != '-') continue;
    std::size_t i = at + 5;
    const std::size_t month = digits_at(text, i);
    if (month < 1 || month > 2 || i + month >= text.size() || text[i + month] != '-') continue;
    const auto m = *to_int(text.substr(i, month));
    i += month + 1;
    const std::size_t day = digits_at(text, i);
    if (day < 1 || day > 2) continue;
    const auto d = *to_int(text.substr(i, day));
    const auto clock = time_of_day(text, i + day + 1);
    if (!clock) continue;
    // Days of the civil calendar (years begin in March, so that leap days come last).
    const std::int64_t year = *to_int(text.substr(at, 4)) - (m <= 2 ? 1 : 0);
    const std::int64_t days = 365 * year + year / 4 - year / 100 + year / 400 +
                              (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d;
    return days * 86'400'000'000 + *clock;
  }
  return std::nullopt;
}

namespace {

double pairwise_sum(const double* values, std::size_t n) {
  if (n < 8) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i];
    return sum;
  }
  constexpr std::size_t kBlock = 128;
  if (n > kBlock) {
    const std::size_t half = n / 2 - n / 2 % 8;
    return pairwise_sum(values, half) + pairwise_sum(values + half, n - half);
  }
  double lane[8];
  std::copy_n(values, 8, lane);
  std::size_t i = 8;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) lane[k] += values[i + k];
  }
  double sum =
      ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  for (; i < n; ++i) sum += values[i];
  return sum;
}

}  // namespace

double numpy_mean(const std::vector<double>& values) {
  return pairwise_sum(values.data(), values.size()) / static_cast<double>(values.size());
}

double python_round(double value, int digits) {
  return to_double(fmt::format("{:.{}f}", value, digits)).value_or(value);
}

}  // namespace bertbench::dlperf
