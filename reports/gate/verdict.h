// What the gate may decide of a cell.
#pragma once

#include <string_view>

namespace bertbench {

enum class Verdict {
  pass,
  regression,
  improvement,
  inconclusive,
  not_comparable,
  missing,
  new_cell
};
[[nodiscard]] std::string_view name(Verdict verdict);

}  // namespace bertbench
