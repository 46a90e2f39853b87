// Cells of a result set by what they have in common.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/model/result_set.h"

namespace bertbench::plot {

struct CellGroup {
  std::string
      name;  ///< what distinguishes it from the other groups; the model where it is the only one
  std::vector<const Cell*> cells;  ///< in the order of the set
};

/// Groups of the cells that `wanted` takes, in order of appearance: equal framework, kind and
/// identity once `strip` has taken away the facts that differ within a group. `keep` (may be empty)
/// decides which groups stay; names are made of those.
[[nodiscard]] std::vector<CellGroup> groups_of(const ResultSet& set,
                                               const std::function<bool(const Cell&)>& wanted,
                                               const std::function<void(Identity&)>& strip,
                                               const std::function<bool(CellGroup&)>& keep);

}  // namespace bertbench::plot
