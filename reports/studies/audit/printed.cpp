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
  std::string out = " ";
  for (const char c : text) {
    if (c == '*' || c == '`' || c == '"') continue;
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank || out.back() != ' ') out += blank ? ' ' : c;
  }
  if (trim(out).ends_with(']')) out.resize(std::min(out.rfind('['), out.size()));  // "27.33 [1]"
  return std::string(trim(out));
}

constexpr std::string_view kDigits = "0123456789";

std::size_t digits_at(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kDigits, at), text.size()) - std::min(at, text.size());
}

// The digits at the front of `text` as a number; `used` characters of it. Groups of thousands may
// be set apart by ',' (unless it is the decimal mark), an apostrophe or one blank.
std::optional<Printed> digits(std::string_view text, bool decimal_comma, std::size_t& used) {
  const std::string_view between = decimal_comma ? ".' " : ",' ";
  const char mark = decimal_comma ? ',' : '.';
  std::string clean;
  std::size_t at = 0;
  const auto take = [&](std::size_t size) {
    clean += text.substr(at, size);
    at += size;
  };
  if (text.starts_with('-')) take(1);
  take(digits_at(text, at));
  while (at > 0 && at < text.size() && between.find(text[at]) != std::string_view::npos &&
         digits_at(text, at + 1) == 3) {
    ++at;
    take(3);
  }
  int decimals = 0;
  if (text.substr(at).starts_with(mark)) {
    ++at;
    clean += '.';
    decimals = static_cast<int>(digits_at(text, at));
    take(digits_at(text, at));
  }
  std::int64_t exponent = 0;
  if (at < text.size() && lower(text[at]) == 'e') {  // 4e-3, 1.2E+03 of a spreadsheet
    const std::string_view shown = text.substr(at + 1);
    const std::size_t sign = shown.starts_with('-') || shown.starts_with('+') ? 1 : 0;
    const std::size_t size = sign + std::min<std::size_t>(digits_at(shown, sign), 3);
    const std::size_t plus = shown.starts_with('+') ? 1 : 0;
    if (const auto value = to_int(shown.substr(plus, size - plus))) {
      exponent = *value;
      take(1 + size);
    }
  }
  const auto value = to_double(clean);
  if (!value) return std::nullopt;
  used = at;
  Printed number;
  number.value = *value;
  number.unit = std::pow(10.0, static_cast<double>(exponent) - decimals);
  return number;
}

bool is_unit_text(std::string_view text) {  // "samples/s", "GB", "sequences/sec", "hrs"
  constexpr std::size_t kLongest = 24;
  const bool letters = std::ranges::all_of(
      text, [](char c) { return is_letter(c) || c == '/' || c == ' ' || c == '.'; });
  if (!letters || text.size() > kLongest ||
      std::ranges::none_of(text, [](char c) { return is_letter(c); }))
    return false;
  // Words that mark the number as no plain result.
  const std::string small = lower(text);
  constexpr std::string_view kOutcomes[] = {"nan", "full", "oom", "fail",
                                            "err", "inf",  "and", "or"};
  return std::ranges::none_of(kOutcomes,
                              [&](std::string_view word) { return has_text(small, word); });
}

std::optional<Printed> one_number(std::string_view text, const NumberStyle& style) {
  text = trim(text);
  const std::string shown(text);
  if (text.starts_with('~')) text = trim(text.substr(1));
  std::size_t used = 0;
  auto number = digits(text, style.decimal_comma, used);
  if (!number) return std::nullopt;
  number->text = shown;
  std::string_view rest = text.substr(used);
  const auto take = [&](double factor) {
    number->value *= factor;
    number->unit *= factor;
    rest = trim(rest.substr(1));
  };
  if (rest.size() == 1 || (rest.size() > 1 && !is_letter(rest[1]))) {
    if (lower(rest[0]) == 'k')
      take(1e3);
    else if (rest[0] == 'M')
      take(1e6);
    else if (rest[0] == 'G' || rest[0] == 'B')
      take(1e9);
  }
  rest = trim(rest);
  number->percent = rest.starts_with('%');
  if (number->percent) take(0.01);
  rest = trim(rest.substr(0, rest.find("+-")));  // the deviation
  if (!rest.empty() && !is_unit_text(rest)) return std::nullopt;
  return number;
}

// Where a cell splits into several numbers, or npos.
std::size_t joint(std::string_view text, const NumberStyle& style, std::size_t& length) {
  for (const std::string_view word : {" and ", " & ", "/"}) {
    const auto at = text.find(word);
    if (at == std::string_view::npos) continue;
    length = word.size();
    const bool pair = style.slash_pairs && digits_at(trim(text.substr(at + 1)), 0) > 0;
    if (word != "/" || pair) return at;
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
    if (at == std::string::npos) continue;
    const std::size_t after = digits_at(cell, at + 1);
    comma = comma || (after != 0 && after != 3);
  }
  return comma;
}

std::string fixed_digits(double value, int decimals) {
  return fmt::format("{:.{}f}", value, std::clamp(decimals, 0, 12));
}

int decimals_of(double unit) {
  return static_cast<int>(std::clamp(std::lround(-std::log10(unit)), 0L, 12L));
}

}  // namespace bertbench::audit
