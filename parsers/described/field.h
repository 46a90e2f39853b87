// Field: what a part of a described line means. The names are those of format files.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

enum class Field {
  // of a record
  step,
  epoch,
  epoch_steps,
  iterations,
  seconds,
  seconds_per_iteration,
  mean_so_far,
  elapsed,
  time_left,
  clock,
  rate,
  rate_so_far,
  rate_per_gpu,
  work,
  loss,
  rank,
  // counters that two lines make a fact of
  updates,
  micro_steps,
  sequences_done,
  // the plan
  planned,
  epochs,
  // facts
  framework,
  model,
  precision,
  micro_batch_size,
  global_batch_size,
  gradient_accumulation_steps,
  sequence_length,
  world_size,
  nodes,
  gpus_per_node,
  data_parallel,
  // statements
  total_seconds,
  counted_seconds,
  wall_seconds,
  total_sequences,
  total_iterations,
  average_rate,
  skipped_steps,
  peak_memory,
  began,
  ended,
  // of a rule that parts runs
  setting,
  // of another field
  unit,
};

/// What the text of a field must be.
enum class FieldKind {
  text,
  number,    ///< any, also nan
  positive,  ///< above 0
  index,     ///< whole, from 0
  count,     ///< whole, from 1; several on one line are multiplied
  clock,     ///< a stamp
  duration,  ///< seconds, [[h:]mm:]ss or "2m 30s"
  time,      ///< a duration above 0
};

/// What the commas of a log's numbers are: "320,672" is 320672, or 320.672, or nothing shows which.
enum class Commas { thousands, decimal, unclear };

struct FieldInfo {
  std::string_view name;
  FieldKind kind;
  bool of_record;  ///< it needs a line with `step`, or one that continues such a line
  std::string_view meaning;
};
/// In the order of Field.
[[nodiscard]] std::span<const FieldInfo> field_infos();
[[nodiscard]] const FieldInfo& info(Field field);
[[nodiscard]] const std::vector<std::string>& field_names();
[[nodiscard]] std::optional<Field> parse_field(std::string_view name);

}  // namespace bertbench
