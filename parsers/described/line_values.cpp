#include "parsers/described/line_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/described/printed_value.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decimal.h"
#include "parsers/lines/evaluation_words.h"
#include "parsers/lines/json_line.h"

namespace bertbench {
namespace {

constexpr double kLargestCount = 1e15;

/// The number or the word at the start of `text`; empty where there is none.
std::string_view first_word(std::string_view text, FieldKind kind, Commas commas) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  if (text[0] == '\'' || text[0] == '"') text.remove_prefix(1);
  if (kind == FieldKind::text) return text.substr(0, text.find_first_of(" \t,;)'\""));
  Cursor cursor(text, false);
  if (!cursor.number()) return {};
  std::size_t end = cursor.at();
  const bool fraction = commas == Commas::decimal && end + 1 < text.size() && text[end] == ',';
  if (fraction && is_digit(text[end + 1])) {
    end = digits_after(text, end + 1);
  } else {
    while (has_thousands_at(text, end)) end += 4;
  }
  if (end < text.size() && std::string_view("KkMGB").find(text[end]) != std::string_view::npos) {
    const bool last =
        end + 1 == text.size() || std::isalnum(static_cast<unsigned char>(text[end + 1])) == 0;
    if (last) ++end;
  }
  return text.substr(0, end);
}

/// Of a time or a rate: trackers group keys by a prefix that does not change what they mean, as
/// "perf/step_ms" (Weights & Biases).
bool may_have_prefix(Field field) {
  return field == Field::seconds || field == Field::rate || field == Field::rate_per_gpu;
}

/// "eval/step_ms", "rollout/tokens_per_second", "rank_1/step_time": of other work, or of a part.
bool names_other_work(std::string_view prefix) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"generation", "generate", "rollout", "sampling", "data",   "dataloader", "loader",
       "optimizer",  "optim",    "forward", "backward", "comm",   "checkpoint", "device",
       "gpu",        "rank",     "host",    "node",     "worker", "replica"});
  return std::ranges::any_of(words_of(prefix), [&](const std::string& word) {
    return is_evaluation_word(word) || std::ranges::find(kWords, word) != kWords.end();
  });
}

/// The member `name` after a prefix that ends with '/', where one alone has it and is no other
/// key of the rule: nullptr elsewhere.
const nlohmann::json* after_prefix(const nlohmann::json& object, const std::string& name,
                                   const DescribedRule& rule) {
  const nlohmann::json* found = nullptr;
  for (auto member = object.begin(); member != object.end(); ++member) {
    const std::string_view text = member.key();
    if (text.size() <= name.size() + 1 || !text.ends_with(name) ||
        text[text.size() - name.size() - 1] != '/') {
      continue;
    }
    const bool of_rule = std::ranges::any_of(rule.json, [&](const DescribedRule::Key& key) {
      return key.path.size() == 1 && key.path.front() == text;
    });
    if (of_rule || names_other_work(text.substr(0, text.size() - name.size()))) continue;
    if (found != nullptr) return nullptr;
    found = &*member;
  }
  return found;
}

double factor_of(const DescribedRule::Factor& factor, std::string_view unit) {
  const auto named =
      std::ranges::find(factor.by_unit, unit, &std::pair<std::string, double>::first);
  return named != factor.by_unit.end() ? named->second : factor.factor;
}

}  // namespace

const LineValues::Value* LineValues::at(Field field) const {
  if (!has(field)) return nullptr;
  return &*std::ranges::find(values_, field, &Value::field);
}

void LineValues::put(const Value& value) {
  values_.push_back(value);
  has_ |= bit(value.field);
}

std::optional<double> LineValues::number(Field field) const {
  const Value* value = at(field);
  return value != nullptr ? std::optional(value->number) : std::nullopt;
}

std::optional<std::int64_t> LineValues::count(Field field) const {
  const Value* value = at(field);
  // A number that is no count, a nan among them, is none: only loss may be one.
  if (value == nullptr || !(std::abs(value->number) <= kLargestCount)) return std::nullopt;
  // "0.29B" is the double next below 290,000,000, and 1.02 thousand in single precision is
  // 1019.99998.
  constexpr double kSinglePrecision = 1e-6;  // share of the number
  const double nearest = std::round(value->number);
  const bool rounded = std::abs(nearest - value->number) <= kSinglePrecision * nearest;
  return static_cast<std::int64_t>(rounded ? nearest : value->number);
}

std::string_view LineValues::text(Field field) const {
  const Value* value = at(field);
  return value != nullptr ? value->text : std::string_view();
}

std::optional<Stamp> LineValues::stamp(Field field) const {
  const Value* value = at(field);
  if (value == nullptr) return std::nullopt;
  return Stamp{value->number, value->names_year, value->names_day};
}

double LineValues::digit(Field field) const {
  const Value* value = at(field);
  if (value == nullptr) return kUnknown;
  constexpr double kMinute_s = 60;
  double out = (value->whole_minutes ? kMinute_s : last_digit(value->text)) * value->factor;
  for (int i = 0; i < value->thousandths; ++i) out /= 1000;
  return out;
}

bool LineValues::read_json(const DescribedRule& rule, std::string_view line) {
  // A label or a name may be before the object; the literal is one, or begins in it.
  const bool no_brace = rule.literal.find('{') == std::string::npos;
  const auto at = line.find(rule.literal);
  const auto first = line.find('{');
  const auto begin = no_brace && first < at ? first : line.find('{', at);
  if (begin == std::string_view::npos) return false;
  const auto json = parse_json_line(line.substr(begin));
  if (!json.is_object()) return false;
  const auto is_place = [](Field field) {
    return field == Field::step || field == Field::epoch || field == Field::clock ||
           field == Field::planned;
  };
  bool any = std::ranges::all_of(rule.json, is_place, &DescribedRule::Key::field);
  const auto take = [&](const DescribedRule::Key& key, const nlohmann::json* value) {
    if (value == nullptr || (!value->is_number() && !value->is_string())) return;
    // Of several names of one field the first counts.
    if (std::ranges::find(groups_, key.field, &LinePattern::Group::field) != groups_.end()) return;
    any = any || !is_place(key.field);
    owned_.push_back(value->is_string() ? value->get<std::string>() : value->dump());
    groups_.push_back({key.field, owned_.back(), key.factor});
  };
  for (const DescribedRule::Key& key : rule.json) {
    const nlohmann::json* value = &json;
    for (const std::string& name : key.path) {
      const auto member = value->is_object() ? value->find(name) : value->end();
      if (!value->is_object() || member == value->end()) {
        value = nullptr;
        break;
      }
      value = &*member;
    }
    take(key, value);
  }
  bool grouped = false;
  for (auto member = json.begin(); member != json.end(); ++member) {
    grouped = grouped || member.key().find('/') != std::string::npos;
  }
  for (const DescribedRule::Key& key : rule.json) {
    if (!grouped || key.path.size() != 1 || !may_have_prefix(key.field)) continue;
    take(key, after_prefix(json, key.path.front(), rule));
  }
  if (members_.empty() && any &&
      std::ranges::find(groups_, Field::step, &LinePattern::Group::field) != groups_.end()) {
    for (auto member = json.begin(); member != json.end(); ++member) {
      members_.push_back(member.key());
    }
  }
  return any || !rule.gives(Field::step);
}

bool LineValues::read_after(const DescribedRule& rule, std::string_view line, bool cut,
                            Commas commas) {
  bool any = false;
  for (const DescribedRule::Key& key : rule.after) {
    const std::string& text = key.path.front();
    const auto at = line.find(text);
    if (at == std::string_view::npos) continue;
    const std::string_view word =
        first_word(line.substr(at + text.size()), info(key.field).kind, commas);
    if (word.empty() || (cut && word.data() + word.size() == line.data() + line.size())) continue;
    groups_.push_back({key.field, word, key.factor});
    any = true;
  }
  return any;
}

/// Makes points of decimal commas, and takes off numbers whose comma is unclear.
void LineValues::settle_commas(Commas commas) {
  const auto has_one = [](const LinePattern::Group& group) {
    const FieldKind kind = info(group.field).kind;
    const bool other = kind == FieldKind::text || kind == FieldKind::clock ||
                       kind == FieldKind::index || kind == FieldKind::count;
    return !other && group.text.find(',') != std::string_view::npos;
  };
  if (commas == Commas::unclear) std::erase_if(groups_, has_one);
  for (LinePattern::Group& group : groups_) {
    if (commas != Commas::decimal || !has_one(group)) continue;
    std::string& text = owned_.emplace_back(group.text);
    std::ranges::replace(text, ',', '.');
    group.text = text;
  }
}

/// Leaves out a text that is not what the field needs.
void LineValues::make_value(const DescribedRule& rule, LinePattern::Group group, bool day_first) {
  const FieldKind kind = info(group.field).kind;
  Value value{group.field, trim(group.text)};
  double& factor = value.factor = group.factor;
  for (const DescribedRule::Factor& scale : rule.scale) {
    if (scale.field != group.field) continue;
    const auto unit = std::ranges::find(groups_, Field::unit, &LinePattern::Group::field);
    factor *= factor_of(scale, unit != groups_.end() ? unit->text : std::string_view());
  }
  if (kind == FieldKind::text) {
    if (!value.text.empty()) put(value);
    return;
  }
  std::optional<double> number;
  if (kind == FieldKind::clock) {
    const auto stamp = printed_stamp(value.text, day_first);
    if (stamp) number = stamp->seconds;
    value.names_year = !stamp || stamp->names_year;
    value.names_day = !stamp || stamp->names_day;
    value.whole_minutes = stamp && stamp->whole_minutes;
  } else if (kind == FieldKind::duration) {
    number = printed_duration(value.text);
  } else if (kind == FieldKind::time) {
    number = printed_time(value.text);
  } else {
    number = kind == FieldKind::count ? printed_product(value.text) : printed_number(value.text);
  }
  if (!number) return;
  value.number = *number * factor;
  // Seconds since 1970 have ten digits for centuries; more are milli-, micro- or nanoseconds.
  constexpr double kLatestSeconds = 1e11;
  while (kind == FieldKind::clock && std::isfinite(value.number) && value.number > kLatestSeconds) {
    value.number /= 1000;
    ++value.thousandths;
  }
  const bool above_zero = kind == FieldKind::positive || kind == FieldKind::time;
  if (above_zero && !(value.number > 0 && std::isfinite(value.number))) return;
  if (kind == FieldKind::index && !(value.number >= 0 && value.number <= kLargestCount)) return;
  if (kind == FieldKind::count && !(value.number >= 1 && value.number <= kLargestCount)) return;
  for (const auto& [field, least] : rule.least) {
    const bool of_run = field == Field::seconds;  // judged at the end
    if (field != group.field || of_run || !(value.number < least)) continue;
    too_coarse_ = true;
    return;
  }
  if (!has(group.field)) return put(value);
  const auto before = std::ranges::find(values_, group.field, &Value::field);
  if (kind == FieldKind::count) {
    before->number = std::min(before->number * value.number, kLargestCount);  // sizes of a mesh
  } else if (group.field == Field::seconds_per_iteration) {
    before->number += value.number;  // parts of an iteration
  }
}

bool LineValues::read(const DescribedRule& rule, std::string_view line, bool cut, bool day_first,
                      Commas commas) {
  groups_.clear();
  values_.clear();
  has_ = 0;
  owned_.clear();
  too_coarse_ = false;
  bool matched = false;
  if (rule.pattern) {
    if (!rule.pattern->match(line, groups_, memo_)) return false;
    matched = true;
    if (cut) {
      std::erase_if(groups_, [&](const LinePattern::Group& group) {
        return group.text.data() + group.text.size() == line.data() + line.size();
      });
    }
  }
  if (!rule.json.empty()) {
    if (!read_json(rule, line)) return false;
    matched = true;
  }
  if (!read_after(rule, line, cut, commas) && !matched) return false;
  if (commas != Commas::thousands) settle_commas(commas);
  for (const LinePattern::Group& group : groups_) make_value(rule, group, day_first);
  const auto step = number(Field::step);
  // A counter beyond the end that its own line names ("7/5") is none.
  return step ? !(*step > number(Field::planned).value_or(*step)) : !rule.gives(Field::step);
}

}  // namespace bertbench
