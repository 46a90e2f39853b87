// Facts that fields of a described line state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/facts.h"
#include "parsers/described/field.h"

namespace bertbench {

class LineValues;

/// No log means a larger batch, length or number of GPUs.
inline constexpr std::int64_t kLargestFact = 1'000'000'000;

/// The fields that are facts, by name.
[[nodiscard]] const std::vector<std::string>& fact_names();
/// Sets what the field states, by its text or its number; nothing for one that is no fact, and for
/// an empty text or a number that no log means.
void set_fact(Facts& facts, Field field, std::string_view text, std::int64_t count);
[[nodiscard]] Facts facts_of(const LineValues& values);

}  // namespace bertbench
