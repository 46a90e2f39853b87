// Scaling: what kind a pair of cells shows, and how efficient it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bertbench {

/// Work of a cell, as far as it distinguishes weak from strong scaling.
struct ScalingPoint {
  std::int64_t world_size = 1;
  std::int64_t micro_batch_size = 1;
  std::int64_t gradient_accumulation_steps = 1;

  [[nodiscard]] std::int64_t per_gpu() const {
    return micro_batch_size * gradient_accumulation_steps;
  }
  [[nodiscard]] std::int64_t global() const { return per_gpu() * world_size; }
};

/// "weak": sequences per GPU and step are those of the base, so the global batch grows with the
/// GPUs. "strong": the global batch is that of the base. Empty: neither, or the same world size.
[[nodiscard]] std::string_view scaling_kind(const ScalingPoint& base, const ScalingPoint& cell);

/// Speedup over the growth of the world: 1 = ideal, for weak and strong scaling alike as both are
/// ratios of sequences per second.
[[nodiscard]] double scaling_efficiency(double speedup, std::int64_t base_world,
                                        std::int64_t world);

}  // namespace bertbench
