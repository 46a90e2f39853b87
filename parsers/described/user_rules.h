// UserRules: what a format file says, checked and compiled.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/facts.h"
#include "parsers/core/outcome.h"
#include "parsers/core/run_log.h"

namespace bertbench {

/// What a named group of a pattern means. The names are the file's.
enum class Field {
  step,
  planned,
  iterations,             ///< in this record; without it, the counter's difference
  seconds,                ///< of the record's iterations together
  seconds_per_iteration,  ///< their mean
  elapsed,                ///< clock since the run began: seconds or [h:]mm:ss
  clock,                  ///< time of day: a date and time, or seconds since 1970
  rate,
  loss,
  rank,
  micro_batch_size,
  global_batch_size,
  gradient_accumulation_steps,
  sequence_length,
  world_size,
  nodes,
  gpus_per_node,
  framework,
  model,
  precision,
  total_seconds,
  average_rate,
  skipped_steps,
  peak_memory,  ///< bytes
};
[[nodiscard]] const std::vector<std::string>& field_names();
[[nodiscard]] std::optional<Field> parse_field(std::string_view name);

struct UserRule {
  std::string literal;
  std::unique_ptr<re2::RE2> pattern;
  bool at_literal = false;  ///< the pattern begins with the literal: it is tried only there
  struct Group {
    int index = 0;
    Field field = Field::step;
    double scale = 1;
  };
  std::vector<Group> groups;
  WorkKind kind = WorkKind::training;
  std::optional<Status> outcome;

  /// The values of the groups that matched; empty optional when the line is not of this rule.
  /// A group that touches the end of a line cut by the end of input gives no value.
  struct Value {
    Field field;
    std::string_view text;
    double scale;
  };
  [[nodiscard]] std::optional<std::vector<Value>> match(std::string_view line, bool cut) const;
};

struct UserRules {
  std::string name, title;
  IterationUnit iteration_unit = IterationUnit::unknown;
  RateUnit rate_unit = RateUnit::unknown;
  bool rate_of_one_gpu = false;
  Facts facts;  ///< of every run of this trainer
  std::vector<UserRule> lines;
};

/// A number as logs print them: "1,234.5", "12.5K" (thousands), "1e-4", nan, inf.
[[nodiscard]] std::optional<double> printed_number(std::string_view text);
/// Whether the text of a group is what its field needs.
[[nodiscard]] bool readable(Field field, std::string_view text);
/// Seconds of an `elapsed` or `clock` group.
[[nodiscard]] std::optional<double> clock_seconds(Field field, std::string_view text);

}  // namespace bertbench
