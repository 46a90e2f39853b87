#include "reports/stats/scaling.h"

namespace bertbench {

std::string_view scaling_kind(const ScalingPoint& base, const ScalingPoint& cell) {
  if (base.world_size == cell.world_size) return "";
  if (base.per_gpu() == cell.per_gpu()) return "weak";
  if (base.global() == cell.global()) return "strong";
  return "";
}

double scaling_efficiency(double speedup, std::int64_t base_world, std::int64_t world) {
  return speedup * static_cast<double>(base_world) / static_cast<double>(world);
}

}  // namespace bertbench
