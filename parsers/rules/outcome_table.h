// The literals that show how a run ended, with the program that prints each. A comment above rows
// names who prints them, one at the end of a row who prints that row. "quoted/NAME" is a log in
// tests/golden/quoted, "corpus NAME" one of the collected logs that are not part of the project.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "parsers/core/outcome.h"

namespace bertbench {

/// How near to the cause a sign is: what follows from a failure, and the ways of launchers to end
/// the other ranks, are the weakest
/// (quoted/outcome_rules.name_the_cause_and_not_what_follows_from_it: torchrun's ChildFailedError
/// after PyTorch's OutOfMemoryError).
enum Strength : std::uint8_t { kHint = 0, kSignal = 1, kNamed = 2, kNan = 3, kMemory = 4 };

enum class Reading : std::uint8_t {
  text,       ///< the literal alone is the sign
  shell,      ///< an ordinary word: only as the shell's own message
  exit_code,  ///< a number after the literal: 0 is none, 137 or -9 a kill, 124 a time limit
};

struct OutcomeRule {
  std::string_view anchor;
  std::string_view also;   ///< must be on the line as well; empty = nothing
  std::string_view never;  ///< must not be on the line; empty = nothing
  Status status;
  Strength strength;
  Reading reading = Reading::text;
};

/// Order matters only between rules on one line: the first that holds is taken.
[[nodiscard]] std::span<const OutcomeRule> outcome_table();

}  // namespace bertbench
