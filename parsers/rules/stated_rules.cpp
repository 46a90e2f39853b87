#include "parsers/rules/stated_rules.h"

#include <cmath>
#include <optional>
#include <string>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr std::string_view kOfNumber = "0123456789.,";

std::optional<double> number_of(std::string_view text) {
  std::string digits(text);
  std::erase(digits, ',');
  return to_double(digits);
}

/// "): 812.5", ": 120.1", " 62.26": the number after a unit.
std::optional<double> after(std::string_view rest) {
  const std::size_t begin = rest.find_first_not_of("): =");
  if (begin == 0 || begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = rest.find_first_not_of(kOfNumber, begin);
  return number_of(rest.substr(begin, end - begin));
}

/// "812.5MODEL_", "401.2 ": the number before a unit.
std::optional<double> before(std::string_view text) {
  constexpr std::string_view kModel = "MODEL_";
  if (text.ends_with(kModel)) text.remove_suffix(kModel.size());
  text = trim(text);
  const std::size_t last = text.find_last_not_of(kOfNumber);
  return number_of(text.substr(last == std::string_view::npos ? 0 : last + 1));
}

}  // namespace

void StatedRules::see(const Line& line, std::size_t anchor, std::size_t begin) {
  constexpr double kLargest = 1e9;  // in any of the units; more is a damaged number
  const std::string_view name = kAnchors[anchor].literal;
  const bool ends_label = name.ends_with(": ");
  const std::size_t end = begin + name.size() - (ends_label ? 2 : 0);
  auto value = after(line.text.substr(end));
  if (!value) value = before(line.text.substr(0, begin));
  if (!value || !(*value > 0) || *value > kLargest) return;
  values_.add({line.number, kAnchors[anchor].of, *value});
}

StatedSeries StatedRules::of(std::int64_t begin_line, std::int64_t end_line) const {
  StatedSeries out;
  for (const StatedLine& one : values_.items()) {
    if (one.line >= begin_line && one.line < end_line) out.add(one);
  }
  return out;
}

}  // namespace bertbench
