#include "parsers/described/user_rules.h"

#include <algorithm>
#include <cmath>

#include "parsers/core/text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

const std::vector<std::string>& field_names() {
  static const std::vector<std::string> names = {"step",
                                                 "planned",
                                                 "iterations",
                                                 "seconds",
                                                 "seconds_per_iteration",
                                                 "elapsed",
                                                 "clock",
                                                 "rate",
                                                 "loss",
                                                 "rank",
                                                 "micro_batch_size",
                                                 "global_batch_size",
                                                 "gradient_accumulation_steps",
                                                 "sequence_length",
                                                 "world_size",
                                                 "nodes",
                                                 "gpus_per_node",
                                                 "framework",
                                                 "model",
                                                 "precision",
                                                 "total_seconds",
                                                 "average_rate",
                                                 "skipped_steps",
                                                 "peak_memory"};
  return names;
}

std::optional<Field> parse_field(std::string_view name) {
  const auto at = std::ranges::find(field_names(), name);
  if (at == field_names().end()) return std::nullopt;
  return static_cast<Field>(at - field_names().begin());
}

std::optional<double> printed_number(std::string_view text) {
  text = trim(text);
  double scale = 1;
  if (text.size() > 1) {
    const char last = text.back();
    if (last == 'K' || last == 'k') scale = 1e3;
    if (last == 'M') scale = 1e6;
    if (last == 'G' || last == 'B') scale = 1e9;
    if (scale > 1) text.remove_suffix(1);
  }
  std::string plain;
  if (text.find(',') != std::string_view::npos) {
    // Commas part thousands, groups of three before the decimal point; anything else is no number.
    const auto groups = split(text.substr(0, text.find('.')), ',');
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

std::optional<double> clock_seconds(Field field, std::string_view text) {
  text = trim(text);
  if (field == Field::clock) {
    if (const auto date = date_time(text)) return date;
    if (const auto stamp = absl_time(text)) return stamp;
  } else {
    Cursor cursor(text, false);
    const auto seconds = cursor.duration();
    if (seconds && cursor.rest().empty()) return seconds;
  }
  const auto number = to_double(text);
  return number && std::isfinite(*number) && *number >= 0 ? number : std::nullopt;
}

bool readable(Field field, std::string_view text) {
  switch (field) {
    case Field::framework:
    case Field::model:
    case Field::precision:
      return !trim(text).empty();
    case Field::elapsed:
    case Field::clock:
      return clock_seconds(field, text).has_value();
    default:
      return printed_number(text).has_value();
  }
}

std::optional<std::vector<UserRule::Value>> UserRule::match(std::string_view line, bool cut) const {
  constexpr int kMostGroups = 32;
  re2::StringPiece found[kMostGroups];
  const re2::StringPiece text(line.data(), line.size());
  const int n = std::min(kMostGroups, 1 + pattern->NumberOfCapturingGroups());
  bool matched = false;
  if (at_literal) {
    for (auto at = line.find(literal); at != std::string_view::npos && !matched;
         at = line.find(literal, at + 1)) {
      matched = pattern->Match(text, at, text.size(), re2::RE2::ANCHOR_START, found, n);
    }
  } else {
    matched = pattern->Match(text, 0, text.size(), re2::RE2::UNANCHORED, found, n);
  }
  if (!matched) return std::nullopt;
  std::vector<Value> out;
  for (const Group& group : groups) {
    const re2::StringPiece& piece = found[group.index];
    if (piece.data() == nullptr) continue;
    const std::string_view value(piece.data(), piece.size());
    if (cut && value.data() + value.size() == line.data() + line.size()) continue;
    out.push_back({group.field, value, group.scale});
  }
  return out;
}

}  // namespace bertbench
