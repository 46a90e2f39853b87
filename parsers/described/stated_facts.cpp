#include "parsers/described/stated_facts.h"

#include "parsers/described/line_values.h"

namespace bertbench {
namespace {

Fact<std::string> Facts::*text_of(Field field) {
  switch (field) {
    case Field::framework:
      return &Facts::framework;
    case Field::model:
      return &Facts::model;
    case Field::precision:
      return &Facts::precision;
    default:
      return nullptr;
  }
}

Fact<std::int64_t> Facts::*count_of(Field field) {
  switch (field) {
    case Field::micro_batch_size:
      return &Facts::micro_batch_size;
    case Field::global_batch_size:
      return &Facts::global_batch_size;
    case Field::gradient_accumulation_steps:
      return &Facts::gradient_accumulation_steps;
    case Field::sequence_length:
      return &Facts::sequence_length;
    case Field::world_size:
      return &Facts::world_size;
    case Field::nodes:
      return &Facts::nodes;
    case Field::gpus_per_node:
      return &Facts::gpus_per_node;
    default:
      return nullptr;
  }
}

}  // namespace

const std::vector<std::string>& fact_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < field_names().size(); ++i) {
      const auto field = static_cast<Field>(i);
      if (text_of(field) != nullptr || count_of(field) != nullptr) out.push_back(field_names()[i]);
    }
    return out;
  }();
  return names;
}

void set_fact(Facts& facts, Field field, std::string_view text, std::int64_t count) {
  const bool plausible = count >= 1 && count <= kLargestFact;
  if (const auto fact = text_of(field); fact != nullptr && !text.empty()) {
    (facts.*fact).set(std::string(text), FactSource::log);
  } else if (const auto number = count_of(field); number != nullptr && plausible) {
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
