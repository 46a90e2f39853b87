#include "parsers/lines/cursor.h"

#include <charconv>
#include <cmath>

#include "parsers/core/text.h"
#include "parsers/lines/decimal.h"
#include "parsers/scan/byte_search.h"

namespace bertbench {

bool Cursor::skip_past(std::string_view literal) {
  const auto found = find_text(text_, literal, at_);
  if (found == std::string_view::npos) return false;
  at_ = found + literal.size();
  return true;
}

bool Cursor::literal(std::string_view literal) {
  if (!rest().starts_with(literal)) return false;
  at_ += literal.size();
  return true;
}

bool Cursor::part(Word word) {
  for (auto at = text_.find(word.text, at_); at != std::string_view::npos;
       at = text_.find(word.text, at + 1)) {
    const std::size_t end = at + word.text.size();
    if (at > 0 && is_name_char(text_[at - 1])) continue;
    if (end < text_.size() && is_name_char(text_[end])) continue;
    at_ = end;
    return true;
  }
  return false;
}

void Cursor::blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

namespace {

// "1,234.5" with the first digits taken: what was read is a part of a number, not a number. Without
// the point it may be a list.
bool goes_on_after_comma(std::string_view text, std::size_t first, std::size_t next) {
  const std::size_t point = next + 4;
  return next - first <= 3 && has_thousands_at(text, next) && point + 1 < text.size() &&
         text[point] == '.' && is_digit(text[point + 1]);
}

std::optional<std::int64_t> as_size(std::optional<double> value) {
  if (!value || !(*value >= 1 && *value < 1e9)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

}  // namespace

std::optional<double> Cursor::number() {
  std::size_t start = at_;
  if (rest().starts_with('+')) ++start;
  const char* end = text_.data() + text_.size();
  auto [value, stop] = read_plain_decimal(text_.data() + start, end);
  if (stop == nullptr) {
    const auto read = std::from_chars(text_.data() + start, end, value);
    if (read.ec != std::errc{}) return std::nullopt;
    stop = read.ptr;
  }
  auto next = static_cast<std::size_t>(stop - text_.data());
  // Lightning pads the numbers of its bars to five letters: "nan.0", "inf.0".
  if (!std::isfinite(value) && text_.substr(next).starts_with(".0")) next += 2;
  // "1.5.2" is a version and "3.08GB" a number with a unit: only a further dot is refused.
  const bool dot = next + 1 < text_.size() && text_[next] == '.' && is_digit(text_[next + 1]);
  if (dot || !whole(next)) return std::nullopt;
  if (goes_on_after_comma(text_, start, next)) return std::nullopt;
  // "INFO" begins like infinity. A nan may have its unit after it ("nanms").
  if (std::isinf(value) && next < text_.size() && is_letter(text_[next])) return std::nullopt;
  at_ = next;
  return value;
}

std::optional<std::int64_t> Cursor::integer() {
  std::int64_t value = 0;
  const char* end = text_.data() + text_.size();
  const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
  const auto next = static_cast<std::size_t>(stop - text_.data());
  if (error != std::errc{} || !whole(next)) return std::nullopt;
  at_ = next;
  return value;
}

std::optional<std::int64_t> Cursor::grouped_integer() {
  const std::size_t start = at_;
  auto value = integer();
  if (!value || *value < 0 || at_ - start > 3) return value;
  while (has_thousands_at(text_, at_)) {
    ++at_;
    std::int64_t thousands = 0;
    const auto group = integer();
    if (!group || __builtin_mul_overflow(*value, 1000, &thousands) ||
        __builtin_add_overflow(thousands, *group, &*value)) {
      at_ = start;
      return std::nullopt;
    }
  }
  return value;
}

std::optional<double> Cursor::duration() {
  constexpr double kDay_s = 86'400, kMostDays = 1e6;
  const std::size_t start = at_;
  const std::size_t digits = digits_after(text_, at_);
  if (digits > at_ && text_.substr(digits).starts_with(" day")) {
    const auto days = integer();
    if (days && *days < kMostDays && (literal(" day, ") || literal(" days, "))) {
      if (const auto rest = duration()) return static_cast<double>(*days) * kDay_s + *rest;
    }
    at_ = start;
    return std::nullopt;
  }
  double total = 0;
  for (int part = 0; part < 3; ++part) {
    const std::size_t before = at_, next = digits_after(text_, at_);
    const auto value = to_int(text_.substr(at_, next - at_));
    if (!value || *value > 100'000'000) break;
    const char after = next < text_.size() ? text_[next] : '.';
    if (after == ':' && part < 2) {
      total = (total + static_cast<double>(*value)) * 60;
      at_ = next + 1;
      continue;
    }
    if (after != '.' && after != ',' && after != 'e' && after != 'E') {
      at_ = next;
      return total + static_cast<double>(*value);
    }
    if (const auto seconds = number()) return total + *seconds;  // at_ is still before the digits
    at_ = before;
    break;
  }
  at_ = start;
  return std::nullopt;
}

std::optional<std::string_view> Cursor::until(std::string_view stops) {
  auto end = text_.find_first_of(stops, at_);
  if (end == std::string_view::npos) {
    if (cut_) return std::nullopt;
    end = text_.size();
  }
  if (end == at_) return std::nullopt;
  const auto out = text_.substr(at_, end - at_);
  at_ = end;
  return out;
}

bool has(const Line& line, std::string_view what) {
  return find_text(line.text, what) != std::string_view::npos;
}

std::optional<double> number_after(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  cursor.blanks();
  if (!cursor.literal("'")) cursor.literal("\"");
  return cursor.number();
}

std::optional<double> number_after(const Line& line, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const auto value = number_after(line, key)) return value;
  }
  return std::nullopt;
}

std::optional<double> number_named(const Line& line, std::string_view name) {
  for (Cursor cursor(line); cursor.read(Word{name});) {
    cursor.literal("\"");
    if (!cursor.literal(":")) cursor.literal("=");
    cursor.blanks();
    cursor.literal("\"");
    if (const auto value = cursor.number()) return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> count_after(const Line& line, std::string_view key) {
  Cursor cursor(line);
  std::int64_t count = 0;
  return cursor.skip_past(key) && cursor.read(kBlanks, count) ? std::optional(count) : std::nullopt;
}

bool leads(const Line& line) { return line.text.find_first_not_of(" \t") == line.at; }

std::optional<std::int64_t> size_here(const Line& line) {
  Cursor cursor(line);
  cursor.move_to(line.text.find_first_not_of(" .:='\"\t", line.end));
  return as_size(cursor.number());
}

std::optional<std::int64_t> size_after(const Line& line, std::string_view key) {
  return as_size(number_after(line, key));
}

}  // namespace bertbench
