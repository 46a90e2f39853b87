#include "parsers/described/stated_facts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "parsers/described/line_values.h"

namespace bertbench {
namespace {

constexpr std::pair<Field, Fact<std::string> Facts::*> kTexts[] = {
    {Field::framework, &Facts::framework},
    {Field::model, &Facts::model},
    {Field::precision, &Facts::precision}};

constexpr std::pair<Field, Fact<std::int64_t> Facts::*> kCounts[] = {
    {Field::micro_batch_size, &Facts::micro_batch_size},
    {Field::global_batch_size, &Facts::global_batch_size},
    {Field::gradient_accumulation_steps, &Facts::gradient_accumulation_steps},
    {Field::sequence_length, &Facts::sequence_length},
    {Field::world_size, &Facts::world_size},
    {Field::nodes, &Facts::nodes},
    {Field::gpus_per_node, &Facts::gpus_per_node}};

/// Null where the field is none of the table.
template <class Member, std::size_t N>
Member member_of(const std::pair<Field, Member> (&table)[N], Field field) {
  const auto at = std::ranges::find(table, field, &std::pair<Field, Member>::first);
  return at != std::end(table) ? at->second : nullptr;
}

}  // namespace

const std::vector<std::string>& fact_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < field_names().size(); ++i) {
      const auto field = static_cast<Field>(i);
      if (member_of(kTexts, field) != nullptr || member_of(kCounts, field) != nullptr) {
        out.push_back(field_names()[i]);
      }
    }
    return out;
  }();
  return names;
}

void set_fact(Facts& facts, Field field, std::string_view text, std::int64_t count) {
  const bool plausible = count >= 1 && count <= kLargestFact;
  if (const auto fact = member_of(kTexts, field); fact != nullptr && !text.empty()) {
    (facts.*fact).set(std::string(text), FactSource::log);
  } else if (const auto number = member_of(kCounts, field); number != nullptr && plausible) {
    (facts.*number).set(count, FactSource::log);
  } else if (field == Field::data_parallel && plausible) {
    facts.axes["data_parallel"] = std::to_string(count);
  }
}

Facts facts_of(const LineValues& values) {
  Facts out;
  for (std::size_t i = 0; i < field_names().size(); ++i) {
    const auto field = static_cast<Field>(i);
    if (!values.has(field)) continue;
    const bool text = info(field).kind == FieldKind::text;
    set_fact(out, field, values.text(field), text ? 0 : values.count(field).value_or(0));
  }
  return out;
}

}  // namespace bertbench
