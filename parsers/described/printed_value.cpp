#include "parsers/described/printed_value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decimal.h"
#include "parsers/lines/spelled_duration.h"

namespace bertbench {
namespace {

/// Digits with or without a fraction at the front of `text`, as nearly all values are.
Decimal plain_front(std::string_view text) {
  return read_plain_decimal(text.data(), text.data() + text.size());
}

bool is_all(std::string_view text, const Decimal& plain) {
  return plain.stop != nullptr && plain.stop == text.data() + text.size();
}

/// 10 to the power of -digits: what the last of so many digits after the point stands for.
double place_value(std::size_t digits) {
  static const auto powers = [] {
    std::array<double, 20> out{};
    for (std::size_t n = 0; n < out.size(); ++n) out[n] = std::pow(10.0, -static_cast<double>(n));
    return out;
  }();
  return digits < powers.size() ? powers[digits] : std::pow(10.0, -static_cast<double>(digits));
}

/// What a suffix of the number multiplies it by; 1 without one.
double suffix_of(std::string_view text) { return text.size() < 2 ? 1 : suffix_scale(text.back()); }

/// Where the unit of a time that ends the text begins: after its last digit.
std::size_t unit_begin(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && !is_digit(text[end - 1])) --end;
  return end > 0 ? end : text.size();
}

/// Seconds in it. "12.5M" is a number of millions.
std::optional<double> scale_of_unit(std::string_view text) {
  const std::string_view unit = trim(text.substr(unit_begin(text)));
  return seconds_of_unit(unit.size() > 1 ? lower(unit) : std::string(unit));
}

}  // namespace

std::optional<double> printed_number(std::string_view text) {
  text = trim(text);
  const Decimal front = plain_front(text);
  if (is_all(text, front)) return front.value;
  const double scale = suffix_of(text);
  if (front.stop != nullptr && scale == 1 && is_letter(text.back())) return std::nullopt;  // "35ms"
  if (scale > 1) text.remove_suffix(1);
  std::string plain;
  if (text.find(',') != std::string_view::npos) {
    // Commas part thousands, groups of three before the decimal point; anything else is no number.
    const auto groups = split(text.substr(0, text.find('.')), ',');
    if (groups[0].starts_with('0')) return std::nullopt;  // "0,099" parts none
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (i > 0 ? groups[i].size() != 3 : groups[i].empty() || groups[i].size() > 3) {
        return std::nullopt;
      }
      plain += groups[i];
    }
    if (text.find('.') != std::string_view::npos) plain += text.substr(text.find('.'));
    text = plain;
  }
  const auto value = to_double(text);
  return value ? std::optional(*value * scale) : std::nullopt;
}

std::optional<double> printed_product(std::string_view text) {
  if (const auto number = printed_number(text)) return number;
  double product = 1;
  for (const std::string_view part : split(text, ',')) {
    const auto number = printed_number(part);
    if (!number) return std::nullopt;
    product *= *number;
  }
  return product;
}

double last_digit(std::string_view text) {
  text = trim(text);
  double scale = 1;
  if (!text.empty() && !is_digit(text.back())) {
    scale = suffix_of(text);
    if (const auto unit = scale_of_unit(text)) {
      scale = *unit;
      text = text.substr(0, unit_begin(text));
    }
  }
  const auto e = std::ranges::find_if(text, [](char c) { return lower(c) == 'e'; });
  if (e != text.end()) {
    scale = std::pow(10.0, to_double({e + 1, text.end()}).value_or(0));
    text = {text.begin(), e};
  }
  // Python's loggers put a comma before the fraction of a second; in other numbers it parts
  // thousands.
  const auto point = text.find_last_of(text.find(':') == std::string_view::npos ? "." : ".,");
  if (point == std::string_view::npos) return scale;
  const std::string_view fraction = text.substr(point + 1);
  const auto digits = std::ranges::find_if_not(fraction, is_digit) - fraction.begin();
  return scale * place_value(static_cast<std::size_t>(digits));
}

std::optional<Stamp> printed_stamp(std::string_view text, bool day_first) {
  text = trim(text);
  if (const auto stamp = any_stamp_or_time(text, day_first)) return stamp;
  if (const auto seconds = printed_duration(text)) return Stamp{*seconds};
  return std::nullopt;
}

std::optional<double> printed_duration(std::string_view text) {
  text = trim(text);
  const Decimal plain = plain_front(text);
  if (is_all(text, plain)) return plain.value;
  if (plain.stop != nullptr && plain.stop == text.data() + unit_begin(text)) {
    if (const auto scale = scale_of_unit(text)) return plain.value * *scale;
  }
  Cursor cursor(text, false);
  const auto seconds = cursor.duration();
  if (seconds && cursor.rest().empty()) return seconds;
  const auto spelled = spelled_duration(text);
  if (spelled && spelled->length == text.size()) return spelled->seconds;
  // One number with its unit: "980us".
  const auto scale = scale_of_unit(text);
  const auto number = scale ? printed_number(text.substr(0, unit_begin(text))) : to_double(text);
  if (!number || !std::isfinite(*number) || !(*number >= 0)) return std::nullopt;
  return *number * scale.value_or(1);
}

std::optional<double> printed_time(std::string_view text) {
  if (const auto number = printed_number(text)) return number;
  return printed_duration(text);
}

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> out;
  bool inside = false;
  for (const char c : name) {
    if (is_letter(c) && !std::exchange(inside, true)) out.emplace_back();
    is_letter(c) ? out.back().push_back(lower(c)) : void(inside = false);
  }
  return out;
}

bool readable(FieldKind kind, std::string_view text) {
  switch (kind) {
    case FieldKind::text:
      return !trim(text).empty();
    case FieldKind::clock:
      return printed_stamp(text, false) || printed_stamp(text, true);
    case FieldKind::time:
      return printed_time(text).has_value();
    case FieldKind::duration:
      return printed_duration(text).has_value();
    case FieldKind::count:
      return printed_product(text).has_value();
    default:
      return printed_number(text).has_value();
  }
}

}  // namespace bertbench
