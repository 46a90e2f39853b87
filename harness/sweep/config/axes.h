// Axes: which names a grid may use and which values each takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sweep/config/workload.h"
#include "parsers/core/error.h"

namespace bertbench {

/// Value of the axis micro_batch_size that asks for the largest batch that fits
/// (harness/sweep/execute/runner.h).
inline constexpr std::string_view kLargestBatch = "max";

/// Axis of strong scaling: sequences of the whole job per optimizer step (scaling.h).
inline constexpr const char* kGlobalBatch = "global_batch_size";

/// The facts of a cell that every grid has: topology, model, precision, micro_batch_size,
/// sequence_length, gradient_accumulation_steps, nodes and gpus_per_node, and global_batch_size,
/// from which others follow.
const std::vector<std::string>& fact_axes();

/// Every axis that the workload knows by name ("env.NAME" apart).
std::vector<std::string> known_axes(const Workload& workload);

/// "activation-checkpointing" -> "activation_checkpointing"; "env.NAME" stays.
std::string canonical_axis(const std::string& name);

/// True where the axis takes whole numbers from 1 on.
bool is_count_axis(const std::string& axis);

/// The value as the schema of a sweep has it: counts are numbers.
nlohmann::ordered_json axis_json(const std::string& axis, const std::string& value);

/// An error with a hint where `name` is no axis of the workload.
Result<void> check_axis_name(const std::string& name, const Workload& workload);

/// An error where an axis of so many values changes nothing, because no word of the workload holds
/// it. The topology always changes something.
Result<void> check_axis_is_used(const std::string& axis, std::size_t values,
                                const Workload& workload);

/// An error where `value` is impossible for the axis.
Result<void> check_axis_value(const std::string& axis, const std::string& value,
                              const Workload& workload);

}  // namespace bertbench
