#include "parsers/lines/whole_number.h"

#include <cmath>

namespace bertbench {

std::optional<std::int64_t> whole_between(double least, double most) {
  const double whole = std::ceil(least);
  if (!(whole >= 1 && whole < 1e9) || !(whole <= most && whole + 1 > most)) return std::nullopt;
  return static_cast<std::int64_t>(whole);
}

}  // namespace bertbench
