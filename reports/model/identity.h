// Identity: what makes two results the same cell of a grid.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "parsers/core/facts.h"

namespace bertbench {

/// The axis that names the variant of a sweep that a cell was measured with. Cells that differ in
/// it alone are one point of the grid, whose trials of equal number are pairs
/// (reports/gate/paired.h).
inline constexpr const char* kVariantAxis = "variant";

/// The eight facts and every further axis. Unknown facts are absent, never guessed.
struct Identity {
  std::optional<std::string> framework, model, precision;
  std::optional<std::int64_t> sequence_length, micro_batch_size, gradient_accumulation_steps;
  std::optional<std::int64_t> nodes, gpus_per_node;
  std::map<std::string, std::string> axes;  ///< optimizer, env.NAME, any trainer option

  /// All eight facts are known: only then may separate logs join one cell.
  [[nodiscard]] bool complete() const;
  /// Its communication took the time that a model of a cluster gives. It is never compared with a
  /// measured cell.
  [[nodiscard]] bool simulated() const;
  /// "bert-large.bf16.s128.b64.a1.2n8g+optimizer=lamb"; unknown facts as '?', a simulated run
  /// with "+simulated". The framework is
  /// not in the key; cells of one result set whose keys would be equal get "#2", "#3".
  [[nodiscard]] std::string key() const;
  [[nodiscard]] std::optional<std::int64_t> world_size() const;
  [[nodiscard]] std::optional<std::int64_t> global_batch_size() const;
  bool operator==(const Identity&) const = default;
};

[[nodiscard]] Identity identity_of(const Facts& facts);

}  // namespace bertbench
