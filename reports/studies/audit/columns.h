// What a column is, by its heading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench::audit {

enum class Role {
  none,    ///< not understood; text in such a column may still distinguish configurations
  ignore,  ///< line numbers, notes
  nodes,
  gpus,
  gpus_per_node,
  world_size,
  topology,
  batch_size,         ///< sequences per GPU and micro-step
  accumulation,       ///< micro-steps per optimizer step
  accumulated_batch,  ///< batch size x accumulation, per GPU
  global_batch,       ///< sequences of all GPUs per optimizer step
  sequence_length,
  model,
  precision,
  framework,
  checkpointing,
  variant,
  iterations_per_second,
  step_time,
  throughput,  ///< of the whole job
  per_gpu,     ///< throughput per GPU
  tokens_per_second,
  steps,
  epochs,
  calculated_time,
  corrected_time,
  train_time,
  sequences,
  speedup,
  precision_speedup,
  time_speedup,
  weak_scaling,
  strong_scaling,
  efficiency,
  tflops,
  flops_per_sequence,
  peak_tflops,
  mfu,
  metric,     ///< names what the replicates of a row measure
  replicate,  ///< one seed or trial of several
  mean,
  median,
  deviation,
  score,   ///< quality: loss, accuracy, exact match, F1; nothing is derived from it
  memory,  ///< of one device
};

/// "batch_size": for --column, JSON and messages.
[[nodiscard]] std::string_view name(Role role);
[[nodiscard]] Result<Role> role_from_name(std::string_view text);
[[nodiscard]] std::vector<std::string> role_names();

/// The role that has these words, in their normal form, in its list (roles.cpp); else none.
[[nodiscard]] Role role_of_words(std::string_view words);
/// All words of those lists.
[[nodiscard]] std::vector<std::string_view> known_words();

/// Whether a column's name may begin with this word: spares reading lines that are no heading.
[[nodiscard]] bool begins_heading(std::string_view word);

/// Whether values are whole numbers that nobody rounds: GPUs, batch sizes, steps.
[[nodiscard]] bool is_count(Role role);

/// Whether cells of the column hold numbers; otherwise they may be words.
[[nodiscard]] bool holds_numbers(Role role);

/// Whether rows that differ here are different configurations, each with its own base row.
[[nodiscard]] bool distinguishes(Role role);

[[nodiscard]] bool is_role(std::string_view heading);
/// Whether two texts are one heading: case does not matter.
[[nodiscard]] bool same_heading(std::string_view a, std::string_view b);

/// "and", "to", "/": a name neither begins nor ends with what joins two words.
[[nodiscard]] bool joins_words(std::string_view word);

/// The words of a precision or a phase ("mixed precision", "tf32"): whether `text` is one of them.
[[nodiscard]] bool is_variant(std::string_view text);

struct Heading {
  Role role = Role::none;
  /// What "TF32", "mixed precision", "FP32 and FP16" or "Phase 1 and Phase 2" in the heading means:
  /// "tf32", "fp32", "mixed", "bf16", "fp8", "phase1", "phase2", in order. Two of them on a role
  /// that is not a ratio mean cells of the form "a and b".
  std::vector<std::string> variants;
  std::string unit;  ///< text in parentheses: "hours", "ms", "%"
};

/// Reads one heading. Case, '_', '-', Markdown, blanks around '/' and the words for a precision
/// do not matter.
[[nodiscard]] Heading read_heading(std::string_view text);

}  // namespace bertbench::audit
