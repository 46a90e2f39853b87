// Which cells are wrong where cells contradict each other: the fewest changes that make all rules
// hold.
#pragma once

#include <map>
#include <vector>

#include "reports/studies/audit/relation.h"

namespace bertbench::audit {

struct Culprit {
  CellId cell;
  Quantity should_be;                  ///< its nominal is a whole number for counts
  std::vector<std::size_t> relations;  ///< the violated ones that it settles
};

struct Culprits {
  std::vector<Culprit> culprits;
  Overrides corrected;  ///< the culprits' values, for judging the other cells
};

/// A cell is accused when changing it alone settles more violated relations than any other cell
/// would, minus those that hold now and would break. On a tie: the one whose correction is a power
/// of two while its print is not (batch sizes, GPUs), then the derived cell of the relation.
[[nodiscard]] Culprits find_culprits(const Grid& grid, const std::vector<Relation>& relations);

}  // namespace bertbench::audit
