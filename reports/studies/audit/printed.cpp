#include "reports/studies/audit/printed.h"

#include <fmt/format.h>

#include <cctype>

#include "parsers/core/text.h"

namespace bertbench::audit {
namespace {

constexpr std::string_view kSpaces[] = {"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89"};
constexpr std::string_view kMinus = "\xE2\x88\x92", kTimes = "\xC3\x97";
constexpr std::string_view kPlusMinus = "\xC2\xB1", kApprox = "\xE2\x89\x88";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Emphasis, code marks, typographic blanks and footnote marks away; one blank between words.
std::string plain(std::string_view cell) {
  std::string text(cell);
  for (const auto space : kSpaces) replace_all(text, space, " ");
  replace_all(text, kMinus, "-");
  replace_all(text, kTimes, "x");
  replace_all(text, kPlusMinus, "+-");
  replace_all(text, kApprox, "~");
  std::string out;
  for (const char c : text) {
    if (c == '*' || c == '`' || c == '$' || c == '"') continue;
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  if (!out.empty() && out.back() == ']') {  // "27.33 [1]"
    const auto open = out.rfind('[');
    if (open != std::string::npos && open > 0) out.resize(open);
    while (!out.empty() && out.back() == ' ') out.pop_back();
  }
  return out;
}

// The digits at the front of `text` as a number; `used` characters of it. Groups of thousands may
// be set apart by ',' (unless it is the decimal mark), an apostrophe or one blank.
std::optional<Printed> digits(std::string_view text, bool decimal_comma, std::size_t& used) {
  std::string clean;
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
    if (text[at] == '-') clean += '-';
    ++at;
  }
  const auto group_follows = [&](std::size_t p) {  // three digits, and no fourth
    return p + 3 < text.size() + 0 && is_digit(text[p + 1]) && is_digit(text[p + 2]) &&
           is_digit(text[p + 3]) && (p + 4 >= text.size() || !is_digit(text[p + 4]));
  };
  std::size_t whole = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (is_digit(c)) {
      clean += c;
      ++whole;
    } else if (whole > 0 &&
               ((c == ',' && !decimal_comma) || c == '\'' || c == ' ' ||
                (c == '.' && decimal_comma)) &&
               group_follows(at)) {
      continue;
    } else {
      break;
    }
  }
  int decimals = 0;
  bool point = false;
  const char mark = decimal_comma ? ',' : '.';
  if (at < text.size() && text[at] == mark) {
    point = true;
    clean += '.';
    for (++at; at < text.size() && is_digit(text[at]); ++at, ++decimals) clean += text[at];
  }
  if (whole == 0 && decimals == 0) return std::nullopt;
  int exponent = 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {  // 4e-3
    std::size_t p = at + 1;
    if (p < text.size() && (text[p] == '-' || text[p] == '+')) ++p;
    const std::size_t first = p;
    while (p < text.size() && is_digit(text[p]) && p - first < 3) ++p;
    if (p > first) {
      const auto shown = to_int(text.substr(first, p - first));
      exponent = static_cast<int>(*shown) * (text[at + 1] == '-' ? -1 : 1);
      clean += fmt::format("e{}", exponent);
      at = p;
    }
  }
  if (whole == 0) clean.insert(clean.find('.'), "0");
  if (clean.back() == '.') clean += '0';
  const auto value = to_double(clean);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  Printed number;
  number.value = *value;
  number.unit = std::pow(10.0, exponent - decimals);
  number.has_point = point;
  used = at;
  return number;
}

bool is_unit_text(std::string_view text) {  // "samples/s", "GB", "sequences/sec", "hrs"
  if (text.empty() || text.size() > 24) return false;
  bool letter = false;
  for (const char c : text) {
    const bool alpha = std::isalpha(static_cast<unsigned char>(c)) != 0;
    letter = letter || alpha;
    if (!alpha && c != '/' && c != ' ' && c != '.' && c != '^') return false;
  }
  // Words that mark the number as no plain result.
  const std::string small = lower(text);
  for (const std::string_view word : {"nan", "full", "oom", "fail", "err", "inf", "and", "or"}) {
    if (small.find(word) != std::string::npos) return false;
  }
  return letter;
}

std::optional<Printed> one_number(std::string_view text, const NumberStyle& style) {
  text = trim(text);
  const std::string shown(text);
  while (!text.empty() && (text.front() == '~' || text.front() == '(')) text.remove_prefix(1);
  if (!text.empty() && text.back() == ')' && shown.front() == '(') text.remove_suffix(1);
  text = trim(text);
  std::size_t used = 0;
  auto number = digits(text, style.decimal_comma, used);
  if (!number) return std::nullopt;
  number->text = shown;
  std::string_view rest = text.substr(used);
  const auto scale = [&](double factor, std::optional<double> binary) {
    if (binary) number->binary_value = number->value * *binary;
    number->value *= factor;
    number->unit *= factor;
  };
  if (!rest.empty() && (rest.size() == 1 || !std::isalpha(static_cast<unsigned char>(rest[1])))) {
    switch (rest.front()) {
      case 'K':
      case 'k':
        scale(1e3, 1024.0);
        rest.remove_prefix(1);
        break;
      case 'M':
        scale(1e6, 1048576.0);
        rest.remove_prefix(1);
        break;
      case 'G':
      case 'B':
        scale(1e9, std::nullopt);
        rest.remove_prefix(1);
        break;
      case 'x':
      case 'X':
        number->times = true;
        rest.remove_prefix(1);
        break;
      default:
        break;
    }
  }
  rest = trim(rest);
  if (!rest.empty() && rest.front() == '%') {
    number->percent = true;
    scale(0.01, std::nullopt);
    rest = trim(rest.substr(1));
  }
  if (rest.substr(0, 2) == "+-") {
    rest = trim(rest.substr(2));
    std::size_t more = 0;
    const auto deviation = digits(rest, style.decimal_comma, more);
    if (!deviation) return std::nullopt;
    number->deviation = deviation->value;
    rest = trim(rest.substr(more));
    if (!rest.empty() && rest.front() == '%') rest = trim(rest.substr(1));
  }
  if (!rest.empty() && !is_unit_text(rest)) return std::nullopt;
  return number;
}

// Where a cell splits into several numbers, or npos.
std::size_t joint(std::string_view text, const NumberStyle& style, std::size_t& length) {
  for (const std::string_view word : {" and ", " & ", " / "}) {
    if (word == " / " && !style.slash_pairs) continue;
    const auto at = text.find(word);
    if (at != std::string_view::npos) {
      length = word.size();
      return at;
    }
  }
  if (style.slash_pairs) {
    const auto at = text.find('/');
    if (at != std::string_view::npos && at + 1 < text.size() && is_digit(text[at + 1])) {
      length = 1;
      return at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<Printed> parse_numbers(std::string_view cell, const NumberStyle& style) {
  if (cell.size() > 256) return {};  // prose or an attack, not a number
  const std::string text = plain(cell);
  std::vector<Printed> numbers;
  std::string_view rest = text;
  while (true) {
    std::size_t length = 0;
    const auto at = joint(rest, style, length);
    const auto number = one_number(rest.substr(0, at), style);
    if (!number) return {};
    numbers.push_back(*number);
    if (at == std::string_view::npos) return numbers;
    rest.remove_prefix(at + length);
  }
}

bool uses_decimal_comma(const std::vector<std::string>& cells) {
  bool comma = false;
  for (const std::string& cell : cells) {
    if (cell.find('.') != std::string::npos) return false;
    const auto at = cell.find(',');
    if (at == std::string::npos || at == 0 || !is_digit(cell[at - 1])) continue;
    std::size_t digits_after = 0;
    while (at + 1 + digits_after < cell.size() && is_digit(cell[at + 1 + digits_after])) {
      ++digits_after;
    }
    if (digits_after != 0 && digits_after != 3) comma = true;
  }
  return comma;
}

std::string fixed_digits(double value, int decimals) {
  return fmt::format("{:.{}f}", value, std::clamp(decimals, 0, 12));
}

int decimals_of(double unit) {
  if (!(unit > 0) || unit >= 1) return 0;
  return static_cast<int>(std::lround(-std::log10(unit)));
}

}  // namespace bertbench::audit
