#include "parsers/formats/nanogpt/token_lines.h"

#include <cmath>
#include <string>

#include "parsers/core/text.h"
#include "parsers/lines/argument_text.h"

namespace bertbench {
namespace {

// "37.5k" in the column that ends where the text does; NaN: none above zero.
double column(std::string_view text) {
  const auto bar = text.rfind("| ");
  if (bar == std::string_view::npos) return kUnknown;
  std::string_view digits = trim(text.substr(bar + 2));
  double scale = 1;
  if (digits.ends_with('k') || digits.ends_with('K')) scale = 1e3;
  if (digits.ends_with('M')) scale = 1e6;
  if (scale > 1) digits.remove_suffix(1);
  const double value = to_double(digits).value_or(0) * scale;
  return value > 0 ? value : kUnknown;
}

double tokens_per_second(const Line& line) {
  const auto unit = line.text.find(" tok/s");
  return unit == std::string_view::npos ? kUnknown : column(line.text.substr(0, unit));
}

}  // namespace

std::optional<Step> without_time(const Line& line) {
  Step at{.rate = tokens_per_second(line)};
  if (!Cursor(line).read("step ", kBlanks, at.step, " | loss ", at.loss) || std::isnan(at.rate) ||
      !has(line, " tok/s |") || has(line, " ms")) {
    return std::nullopt;
  }
  return at;
}

std::optional<Step> in_columns(const Line& line) {
  Cursor cursor(line);
  Step at;
  const bool named = cursor.literal("step ");
  if (!cursor.read(kBlanks, at.step) || (named && !cursor.read("/", kBlanks, at.planned)) ||
      !cursor.read(" | loss ", at.loss)) {
    return std::nullopt;
  }
  const auto ms = line.text.rfind(named ? " ms |" : "ms");
  if (ms == std::string_view::npos) return std::nullopt;
  at.seconds = column(line.text.substr(0, ms)) / 1000;
  if (std::isnan(at.seconds)) return std::nullopt;
  if (named) at.rate = tokens_per_second(line);
  return at;
}

std::optional<Step> in_brackets(const Line& line) {
  Cursor cursor(line);
  Step at;
  double ms = 0, tokens = 0;
  if (!cursor.read("step ", kBlanks, at.step)) return std::nullopt;
  cursor.read("/", kBlanks, at.planned);
  if (!cursor.read(": train loss ", at.loss) && !cursor.read(" | train loss ", at.loss)) {
    return std::nullopt;
  }
  cursor.move_to(line.text.rfind('(', line.text.rfind(" ms")) + 1);
  cursor.literal("took ");
  if (!cursor.read(ms, " ms") || !(ms > 0)) return std::nullopt;
  at.seconds = ms / 1000;
  const bool rated = cursor.literal(", ") || cursor.literal(" | ");
  if (rated && cursor.read(tokens, " tok/s)") && tokens > 0) at.rate = tokens;
  return at;
}

std::optional<Step> after_its_time(const Line& line) {
  Step at;
  double ms = 0;
  if (!Cursor(line).read("iter_dt ", ms, "ms; iter ", kBlanks, at.step, ": train loss ", at.loss)) {
    return std::nullopt;
  }
  if (ms > 0) at.seconds = ms / 1000;
  return at;
}

std::optional<double> grouped_number(Cursor cursor) {
  std::string digits;
  while (digits.size() < 40) {
    const std::string_view rest = cursor.rest();
    if (rest.empty() || rest.front() == '-') break;
    const auto end = rest.find_first_not_of("0123456789.");
    digits += rest.substr(0, end);
    if (end == std::string_view::npos || rest[end] != ',') break;
    cursor.move_to(cursor.at() + end + 1);
  }
  return to_double(digits);
}

}  // namespace bertbench
