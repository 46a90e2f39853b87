#include "harness/cli/number_text.h"

#include <fmt/format.h>

#include <cmath>

namespace bertbench {

std::string rate_text(const std::optional<double>& value) {
  return value ? rate_text(*value) : "-";
}

std::string share_text(double fraction) {
  const double percent = fraction * 100;
  if (percent != 0 && std::fabs(percent) < 0.01) return percent > 0 ? "<0.01 %" : "0.0 %";
  return percent != 0 && std::fabs(percent) < 0.1 ? fmt::format("{:.2g} %", percent)
                                                  : fmt::format("{:.1f} %", percent);
}

std::string p_text(double p) {
  if (p < 0.001) return "<0.001";
  return p > 0.9995 ? "1" : fmt::format("{:.3f}", p);
}

}  // namespace bertbench
