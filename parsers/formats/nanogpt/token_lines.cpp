#include "parsers/formats/nanogpt/token_lines.h"

#include <string>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

// "37.5k" in the column before `unit`
std::optional<double> scaled_column(std::string_view text, std::string_view unit) {
  const auto end = text.find(unit);
  const auto bar = end == std::string_view::npos ? end : text.rfind("| ", end);
  if (bar == std::string_view::npos) return std::nullopt;
  std::string_view digits = trim(text.substr(bar + 2, end - bar - 2));
  double scale = 1;
  if (digits.ends_with('k') || digits.ends_with('K')) scale = 1e3;
  if (digits.ends_with('M')) scale = 1e6;
  if (scale > 1) digits.remove_suffix(1);
  const auto value = to_double(digits);
  if (!value || !(*value > 0)) return std::nullopt;
  return *value * scale;
}

// The rate of the steps since the line before.
std::optional<TokenLine> without_time(const Line& line) {
  Cursor cursor(line);
  TokenLine out;
  if (!cursor.literal("step ")) return std::nullopt;
  const auto step = step_number(cursor);
  if (!step || !cursor.literal(" | loss ")) return std::nullopt;
  const auto loss = cursor.number();
  out.tokens_per_second = scaled_column(line.text, " tok/s |");
  if (!loss || !out.tokens_per_second || line.text.find(" ms") != std::string_view::npos) {
    return std::nullopt;
  }
  out.step = *step;
  out.loss = *loss;
  return out;
}

std::optional<TokenLine> in_columns(const Line& line) {
  Cursor cursor(line);
  TokenLine out;
  const bool named = cursor.literal("step ");
  const auto step = step_number(cursor);
  if (named && step && cursor.literal("/")) out.planned = step_number(cursor);
  if (!step || (named && !out.planned) || !cursor.literal(" | loss ")) return std::nullopt;
  const auto loss = cursor.number();
  const auto ms = line.text.rfind(named ? " ms |" : "ms");
  if (!loss || ms == std::string_view::npos) return std::nullopt;
  const auto bar = line.text.rfind("| ", ms);
  if (bar == std::string_view::npos) return std::nullopt;
  const auto time = to_double(trim(line.text.substr(bar + 2, ms - bar - 2)));
  if (!time || !(*time > 0)) return std::nullopt;
  out.step = *step;
  out.seconds = *time / 1000;
  out.loss = *loss;
  const auto tokens = line.text.find(" tok/s");
  if (named && tokens != std::string_view::npos) {
    const auto start = line.text.rfind("| ", tokens);
    if (start != std::string_view::npos) {
      out.tokens_per_second = to_double(trim(line.text.substr(start + 2, tokens - start - 2)));
    }
  }
  return out;
}

std::optional<TokenLine> in_brackets(const Line& line) {
  Cursor cursor(line);
  TokenLine out;
  if (!cursor.literal("step ")) return std::nullopt;
  const auto step = step_number(cursor);
  if (!step) return std::nullopt;
  if (cursor.literal("/")) out.planned = step_number(cursor);
  if (!cursor.literal(": train loss ") && !cursor.literal(" | train loss ")) return std::nullopt;
  const auto loss = cursor.number();
  const auto unit = line.text.rfind(" ms");
  const auto bracket = unit == std::string_view::npos ? unit : line.text.rfind('(', unit);
  if (!loss || bracket == std::string_view::npos) return std::nullopt;
  cursor.move_to(bracket + 1);
  cursor.literal("took ");
  const auto time = cursor.number();
  if (!time || !(*time > 0) || !cursor.literal(" ms")) return std::nullopt;
  out.step = *step;
  out.seconds = *time / 1000;
  out.loss = *loss;
  if (cursor.literal(", ") || cursor.literal(" | ")) {
    const auto tokens = cursor.number();
    if (tokens && *tokens > 0 && cursor.literal(" tok/s)")) out.tokens_per_second = *tokens;
  }
  return out;
}

// The time of the iteration before the line, which is none for the first.
std::optional<TokenLine> after_its_time(const Line& line) {
  Cursor cursor(line);
  TokenLine out;
  if (!cursor.literal("iter_dt ")) return std::nullopt;
  const auto time = cursor.number();
  if (!time || !cursor.literal("ms; iter ")) return std::nullopt;
  const auto step = step_number(cursor);
  if (!step || !cursor.literal(": train loss ")) return std::nullopt;
  const auto loss = cursor.number();
  if (!loss) return std::nullopt;
  out.step = *step;
  if (*time > 0) out.seconds = *time / 1000;
  out.loss = *loss;
  return out;
}

}  // namespace

std::optional<std::int64_t> step_number(Cursor& cursor) {
  cursor.blanks();
  const auto step = cursor.integer();
  return step && *step >= 0 && *step < 1'000'000'000'000'000 ? step : std::nullopt;
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

std::optional<TokenLine> token_line(const Line& line) {
  auto out = in_columns(line);
  if (!out) out = in_brackets(line);
  if (!out) out = after_its_time(line);
  return out ? out : without_time(line);
}

}  // namespace bertbench
